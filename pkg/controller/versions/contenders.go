package versions

import (
	"slices"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/requirements"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/lineage"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
)

// Contenders returns other operators that name the same Deployment, which only one can have.
func (r *Index) Contenders(csv *operatorsv1alpha1.ClusterServiceVersion, relatives lineage.Lineage) []*operatorsv1alpha1.ClusterServiceVersion {
	return r.otherOperators(csv, relatives, informers.ByDeployment, csvspec.DeploymentNames(csv))
}

// otherOperators returns those in the same namespace that an index has under a name.
func (r *Index) otherOperators(csv *operatorsv1alpha1.ClusterServiceVersion, relatives lineage.Lineage, index string, names []string) []*operatorsv1alpha1.ClusterServiceVersion {
	known := map[string]bool{csv.Name: true}
	for _, relative := range slices.Concat(relatives.Older, relatives.Newer) {
		known[relative.Name] = true
	}
	var found []*operatorsv1alpha1.ClusterServiceVersion
	for _, name := range names {
		for _, other := range r.Caches.CSVs.By(index, csv.Namespace+"/"+name) {
			if !known[other.Name] {
				known[other.Name] = true
				found = append(found, other)
			}
		}
	}
	return found
}

// AddContenders adds the Contenders of a ClusterServiceVersion to its facts.
func (r *Index) AddContenders(facts *requirements.Facts, relatives lineage.Lineage) {
	for _, other := range r.Contenders(facts.CSV, relatives) {
		if !r.IsDeleted(other) {
			facts.Contenders = append(facts.Contenders, scope.Claimant{CSV: other, Began: r.Began(other)})
		}
	}
	if len(facts.Contenders) == 0 {
		return
	}
	facts.Active = r.Began(facts.CSV)
	facts.Deployments = r.Caches.Deployments.Existing(facts.CSV.Namespace, csvspec.DeploymentNames(facts.CSV))
}
