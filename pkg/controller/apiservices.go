package controller

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
)

// ownedKinds asks which kinds the available APIServices of a ClusterServiceVersion serve. One
// that nobody can tell of serves nothing.
func (c *Controller) ownedKinds(s *snapshot) map[schema.GroupVersionKind]bool {
	kinds := map[schema.GroupVersionKind]bool{}
	for _, owned := range s.csv.Spec.APIServiceDefinitions.Owned {
		live := c.caches.apiServices.get("", install.APIServiceName(owned.Group, owned.Version))
		if live == nil || !install.Available(live) {
			continue
		}
		kind := schema.GroupVersionKind{Group: owned.Group, Version: owned.Version, Kind: owned.Kind}
		serves, err := c.served.serves(kind, c.now())
		if err != nil {
			c.log.WithError(err).WithField("apiservice", live.Name).Warn("cannot see which kinds it serves")
		}
		kinds[kind] = serves
	}
	return kinds
}

// occupiedAPI is why a ClusterServiceVersion that has not begun cannot own its
// APIServices; nil when it can.
func (c *Controller) occupiedAPI(s *snapshot) *scope.Failure {
	if s.upgrade.Began {
		return nil
	}
	for _, owned := range s.csv.Spec.APIServiceDefinitions.Owned {
		refusal := ""
		if reserved, wayOut := install.ReservedGroup(owned.Group, c.caches.apiServices.all()); reserved != "" {
			refusal = reserved + "; " + wayOut
		} else if live := c.caches.apiServices.get("", install.APIServiceName(owned.Group, owned.Version)); live != nil {
			refusal = s.mayClaim(live)
		}
		if refusal != "" {
			return &scope.Failure{Reason: operatorsv1alpha1.CSVReasonOwnerConflict, Message: "unable to adopt APIService: " + refusal}
		}
	}
	return nil
}

// apiServiceChanged also matters to those who own it.
func (c *Controller) apiServiceChanged(before, after rollout.Object) {
	service := present(before, after)[0].(*apiregistrationv1.APIService)
	c.apiChanged(schema.GroupVersion{Group: service.Spec.Group, Version: service.Spec.Version})
	c.ownersChanged(before, after)
}

// unregisterAPIs takes APIServices out of service. Few ClusterServiceVersions have any, and to
// look costs less than to delete none.
func (c *Controller) unregisterAPIs(ctx context.Context, owned metav1.ListOptions) error {
	services, err := c.liveAPIServices(ctx, owned)
	if err != nil {
		return err
	}
	for i := range services {
		if err := deleteExactly(ctx, c.Aggregator.ApiregistrationV1().APIServices(), &services[i]); err != nil {
			return err
		}
	}
	return nil
}
