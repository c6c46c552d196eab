package gather

import (
	"cmp"
	"maps"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/decide"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/discovery"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/requirements"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/lineage"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
)

// occupiedGroups returns reasons by group. Later APIServices of a group do not affect an existing one.
func (g *Gatherer) occupiedGroups(s *decide.Facts, relatives lineage.Lineage) map[string]string {
	occupied := map[string]string{}
	for _, owned := range s.CSV.Spec.APIServiceDefinitions.Owned {
		if g.Caches.APIServices.Get("", csvspec.APIServiceName(owned.Group, owned.Version)) != nil {
			continue
		}
		if why := requirements.OccupiedGroup(owned.Group, g.otherServers(s, relatives)); why != "" {
			occupied[owned.Group] = why
		}
	}
	return occupied
}

// otherServers are the servers of API groups that belong to no version of the operator.
func (g *Gatherer) otherServers(s *decide.Facts, relatives lineage.Lineage) requirements.OtherServers {
	versions := slices.Concat([]*operatorsv1alpha1.ClusterServiceVersion{s.CSV}, relatives.Older, relatives.Newer)
	ownership := g.Versions.OwnershipOf(versions...)
	return requirements.OtherServers{
		APIServices: func(group string) []*apiregistrationv1.APIService {
			return slices.DeleteFunc(g.apiServicesOf(group), func(live *apiregistrationv1.APIService) bool {
				labelled := func(csv *operatorsv1alpha1.ClusterServiceVersion) bool { return csvspec.HasOwnerLabels(live, csv) }
				// Without a Service the API server itself serves it, for its own kinds or for definitions.
				return live.Spec.Service == nil || g.refusal(s, live) == "" || slices.ContainsFunc(versions, labelled) && ownership.Proves(live)
			})
		},
		CRDs: func(group string) []*apiextensionsv1.CustomResourceDefinition {
			return slices.DeleteFunc(slices.Clone(g.Caches.CRDs.By(informers.ByGroup, group)), func(crd *apiextensionsv1.CustomResourceDefinition) bool {
				owns := func(csv *operatorsv1alpha1.ClusterServiceVersion) bool { return csv.OwnsCRD(crd.Name) }
				return slices.ContainsFunc(versions, owns) && !g.ownedElsewhere(crd.Name, s.CSV, versions)
			})
		},
	}
}

func (g *Gatherer) apiServicesOf(group string) []*apiregistrationv1.APIService {
	return g.Caches.APIServices.By(informers.ByGroup, group)
}

// ownedElsewhere reports whether another operator owns a definition with the better right.
func (g *Gatherer) ownedElsewhere(crd string, csv *operatorsv1alpha1.ClusterServiceVersion, versions []*operatorsv1alpha1.ClusterServiceVersion) bool {
	own := g.Versions.ClaimantOf(csv)
	return slices.ContainsFunc(g.Caches.CSVs.By(informers.ByCRD, crd), func(other *operatorsv1alpha1.ClusterServiceVersion) bool {
		return other.OwnsCRD(crd) && !other.IsCopied() && !csvspec.HasEnded(other) && !slices.Contains(versions, other) && g.Versions.ClaimantOf(other).Precedes(own)
	})
}

func (g *Gatherer) addServedKinds(s *decide.Facts, by discovery.Asker) {
	for _, owned := range s.CSV.Spec.APIServiceDefinitions.Owned {
		live := g.Caches.APIServices.Get("", csvspec.APIServiceName(owned.Group, owned.Version))
		if live == nil || !requirements.Available(live) {
			continue
		}
		kind := schema.GroupVersionKind{Group: owned.Group, Version: owned.Version, Kind: owned.Kind}
		group := kind.GroupVersion()
		reply := g.Served.Resources.Of(group, by, discovery.MaxAge)
		s.Observed.ServedKinds[kind], s.Observed.Undiscovered[group], s.Observed.Announced[group] = discovery.HasKind(reply.Answer, kind.Kind), !reply.Known, reply.Announced
	}
}

// reservedAPI also holds for an installed version, which was edited. That one keeps its webhooks.
func (g *Gatherer) reservedAPI(s *decide.Facts) *scope.Failure {
	reserved := requirements.ReservedAPI(s.CSV, g.apiServicesOf)
	for _, group := range slices.Sorted(maps.Keys(s.Observed.OccupiedGroups)) {
		reserved = cmp.Or(reserved, s.Observed.OccupiedGroups[group])
	}
	switch {
	case reserved == "":
		return nil
	case s.Upgrade.Started:
		return &scope.Failure{Reason: operatorsv1alpha1.CSVReasonInvalidWebhookDescription, Message: reserved}
	default:
		return cannotAdopt(reserved)
	}
}

// occupiedAPI is only about a ClusterServiceVersion that has not begun.
func (g *Gatherer) occupiedAPI(s *decide.Facts) *scope.Failure {
	if s.Upgrade.Started {
		return nil
	}
	for _, owned := range s.CSV.Spec.APIServiceDefinitions.Owned {
		if live := g.Caches.APIServices.Get("", csvspec.APIServiceName(owned.Group, owned.Version)); live != nil {
			if refusal := g.refusal(s, live); refusal != "" {
				return cannotAdopt(refusal)
			}
		}
	}
	return nil
}

// cannotAdopt begins with OLM v0's words.
func cannotAdopt(why string) *scope.Failure {
	return &scope.Failure{Reason: operatorsv1alpha1.CSVReasonOwnerConflict, Message: "unable to adopt APIService: " + why}
}

// reservedGroups are groups of its APIServices that no operator may serve.
func (g *Gatherer) reservedGroups(s *decide.Facts) map[string]bool {
	groups := map[string]bool{}
	for _, owned := range s.CSV.Spec.APIServiceDefinitions.Owned {
		groups[owned.Group] = true
	}
	for _, live := range s.Observed.APIServices {
		groups[live.Spec.Group] = true
	}
	for group := range groups {
		reserved, _ := requirements.ReservedGroup(group, g.apiServicesOf(group))
		groups[group] = reserved != ""
	}
	return groups
}
