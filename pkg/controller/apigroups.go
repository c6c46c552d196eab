package controller

import (
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/queue"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/requirements"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/lineage"
)

// occupiedGroups returns the groups in which a ClusterServiceVersion must not register an
// APIService, and why. An APIService that exists is not concerned: what others serve beside it
// later is no reason to unregister it, and whose it is, mayClaim decides.
func (c *gatherer) occupiedGroups(s *snapshot, relatives lineage.Lineage) map[string]string {
	occupied := map[string]string{}
	for _, owned := range s.CSV.Spec.APIServiceDefinitions.Owned {
		if c.caches.APIServices.Get("", csvspec.APIServiceName(owned.Group, owned.Version)) != nil {
			continue
		}
		if why := requirements.OccupiedGroup(owned.Group, c.others(s, relatives)); why != "" {
			occupied[owned.Group] = why
		}
	}
	return occupied
}

// others is what serves versions of groups and belongs neither to a ClusterServiceVersion nor to
// another version of the same operator.
func (c *gatherer) others(s *snapshot, relatives lineage.Lineage) requirements.OtherServers {
	family := slices.Concat([]*operatorsv1alpha1.ClusterServiceVersion{s.CSV}, relatives.Older, relatives.Newer)
	ownership := c.versions.ownership(family...)
	return requirements.OtherServers{
		APIServices: func(group string) []*apiregistrationv1.APIService {
			return slices.DeleteFunc(slices.Clone(c.caches.APIServices.By(informers.ByGroup, group)), func(live *apiregistrationv1.APIService) bool {
				labelled := func(csv *operatorsv1alpha1.ClusterServiceVersion) bool { return csvspec.HasOwnerLabels(live, csv) }
				// Without a Service the API server itself serves it, for its own kinds or for definitions.
				return live.Spec.Service == nil || s.Refusal(live) == "" || slices.ContainsFunc(family, labelled) && ownership.Proves(live)
			})
		},
		CRDs: func(group string) []*apiextensionsv1.CustomResourceDefinition {
			return slices.DeleteFunc(slices.Clone(c.caches.CRDs.By(informers.ByGroup, group)), func(crd *apiextensionsv1.CustomResourceDefinition) bool {
				owns := func(csv *operatorsv1alpha1.ClusterServiceVersion) bool { return csv.OwnsCRD(crd.Name) }
				return slices.ContainsFunc(family, owns) && !c.ownedElsewhere(crd.Name, s.CSV, family)
			})
		},
	}
}

// ownedElsewhere reports whether a ClusterServiceVersion of another operator owns a definition with
// the better right.
func (c *gatherer) ownedElsewhere(crd string, csv *operatorsv1alpha1.ClusterServiceVersion, family []*operatorsv1alpha1.ClusterServiceVersion) bool {
	own := c.versions.claimant(csv)
	return slices.ContainsFunc(c.caches.CSVs.By(informers.ByCRD, crd), func(other *operatorsv1alpha1.ClusterServiceVersion) bool {
		return other.OwnsCRD(crd) && !other.IsCopied() && !slices.Contains(family, other) && c.versions.claimant(other).Precedes(own)
	})
}

// groupServed has those reconciled that own an APIService of a group of which a version was
// registered, changed or removed.
func (c *eventHandlers) groupServed(group string) {
	for _, csv := range c.caches.CSVs.By(informers.ByGroup, group) {
		c.queue.Add(queue.CSVKey(csv.Namespace, csv.Name))
	}
}
