package requirements

import (
	"fmt"
	"slices"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
)

// claimedDeployments returns, for each Deployment that another active ClusterServiceVersion has, the name
// of that ClusterServiceVersion. Versions of the same operator take turns instead: they are no contenders.
func claimedDeployments(f Facts) map[string]string {
	claimed := map[string]string{}
	for _, spec := range csvspec.Deployments(f.CSV) {
		if holder := holderOf(f, spec.Name); holder != nil {
			claimed[spec.Name] = holder.Name
		}
	}
	return claimed
}

// holderOf returns the contender that has a Deployment: the one to which the live Deployment belongs,
// else one that has begun to install itself before.
func holderOf(f Facts, deployment string) *operatorsv1alpha1.ClusterServiceVersion {
	live := f.Deployments[deployment]
	if live != nil && csvspec.OwnedBy(live, f.CSV) {
		return nil
	}
	own := scope.Claimant{CSV: f.CSV, Began: f.Active}
	var begun *scope.Claimant
	for i, other := range f.Contenders {
		switch {
		case !hasDeployment(other.CSV, deployment):
		case live != nil && csvspec.OwnedBy(live, other.CSV):
			return other.CSV
		case other.Began && (!f.Active || other.Precedes(own)) && (begun == nil || other.Precedes(*begun)):
			begun = &f.Contenders[i]
		}
	}
	if begun == nil {
		return nil
	}
	return begun.CSV
}

func hasDeployment(csv *operatorsv1alpha1.ClusterServiceVersion, name string) bool {
	return slices.Contains(csvspec.DeploymentNames(csv), name)
}

// freeDeployments are requirements that are not met: a Deployment has one active ClusterServiceVersion.
func freeDeployments(csv *operatorsv1alpha1.ClusterServiceVersion, claimed map[string]string) []operatorsv1alpha1.RequirementStatus {
	var results []operatorsv1alpha1.RequirementStatus
	for _, name := range csvspec.DeploymentNames(csv) {
		if holder := claimed[name]; holder != "" {
			results = append(results, operatorsv1alpha1.RequirementStatus{
				Group: "apps", Version: "v1", Kind: "Deployment", Name: name,
				Status: operatorsv1alpha1.RequirementStatusReasonPresentNotSatisfied,
				Message: fmt.Sprintf("Deployment %s belongs to ClusterServiceVersion %s: delete one of the two, rename its Deployment, or, where %s is a later version of %[2]s, name %[2]s in its spec.skips",
					name, holder, csv.Name),
			})
		}
	}
	return results
}
