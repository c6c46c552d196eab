package controller

import (
	"cmp"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/discovery"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/requirements"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
)

// observeKinds asks which kinds the available APIServices of a ClusterServiceVersion serve.
func (c *gatherer) observeKinds(s *snapshot, by discovery.Asker) {
	for _, owned := range s.CSV.Spec.APIServiceDefinitions.Owned {
		live := c.caches.APIServices.Get("", csvspec.APIServiceName(owned.Group, owned.Version))
		if live == nil || !requirements.Available(live) {
			continue
		}
		kind := schema.GroupVersionKind{Group: owned.Group, Version: owned.Version, Kind: owned.Kind}
		group := kind.GroupVersion()
		reply := c.served.Resources.Of(group, by, discovery.MaxAge)
		s.Observed.ServedKinds[kind], s.Observed.Undiscovered[group], s.Observed.Announced[group] = discovery.HasKind(reply.Answer, kind.Kind), !reply.Known, reply.Announced
	}
}

// reservedAPI is why a ClusterServiceVersion must not own its APIServices; nil when it may. It
// holds for one that is installed, too: an edit must not do what an installation may not. That
// one keeps its webhooks, which its author has not given up.
func (c *gatherer) reservedAPI(s *snapshot) *scope.Failure {
	reserved := requirements.ReservedAPI(s.CSV, c.caches.APIServices.All())
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

// occupiedAPI is why a ClusterServiceVersion that has not begun cannot own its
// APIServices; nil when it can.
func (c *gatherer) occupiedAPI(s *snapshot) *scope.Failure {
	if s.Upgrade.Started {
		return nil
	}
	for _, owned := range s.CSV.Spec.APIServiceDefinitions.Owned {
		if live := c.caches.APIServices.Get("", csvspec.APIServiceName(owned.Group, owned.Version)); live != nil {
			if refusal := s.Refusal(live); refusal != "" {
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

// reservedGroups are the groups that no operator may serve, among those of the APIServices that
// a ClusterServiceVersion has or wants.
func (c *gatherer) reservedGroups(s *snapshot) map[string]bool {
	groups := map[string]bool{}
	for _, owned := range s.CSV.Spec.APIServiceDefinitions.Owned {
		groups[owned.Group] = true
	}
	for _, live := range s.Observed.APIServices {
		groups[live.Spec.Group] = true
	}
	for group := range groups {
		reserved, _ := requirements.ReservedGroup(group, c.caches.APIServices.All())
		groups[group] = reserved != ""
	}
	return groups
}

// apiServiceChanged also matters to those who own it.
func (c *eventHandlers) apiServiceChanged(before, after drift.Object) {
	service := present(before, after)[0].(*apiregistrationv1.APIService)
	c.apiChanged(schema.GroupVersion{Group: service.Spec.Group, Version: service.Spec.Version})
	c.groupServed(service.Spec.Group)
	c.ownersChanged(before, after)
}
