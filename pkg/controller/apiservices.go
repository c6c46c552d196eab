package controller

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/vocabulary"
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
		refusal := install.ReservedGroup(owned.Group, c.caches.apiServices.all())
		if live := c.caches.apiServices.get("", install.APIServiceName(owned.Group, owned.Version)); live != nil && refusal == "" {
			refusal = s.mayClaim(live)
		}
		if refusal != "" {
			return &scope.Failure{Reason: operatorsv1alpha1.CSVReasonOwnerConflict, Message: "unable to adopt APIService: " + refusal}
		}
	}
	return nil
}

// mayClaimAPIService says why an APIService cannot be made the ClusterServiceVersion's:
// requests to it are somebody else's. One whose owner is gone is nobody's.
func (s *snapshot) mayClaimAPIService(live *apiregistrationv1.APIService) string {
	called := live.Spec.Service
	switch owner := s.owner(live); {
	case s.hasInHand(live):
		return ""
	case called == nil:
		return fmt.Sprintf("%s is what the API server serves itself: the group and the version in spec.apiservicedefinitions.owned must be others", rollout.KeyOf(live))
	case owner != "":
		return fmt.Sprintf("%s belongs to ClusterServiceVersion %s: delete that one first", rollout.KeyOf(live), owner)
	case live.Labels[vocabulary.LabelOwnerKind] == operatorsv1alpha1.ClusterServiceVersionKind, s.calls(called):
		return ""
	default:
		return fmt.Sprintf("%s exists, and no ClusterServiceVersion owns it: API servers send its requests to Service %s/%s; delete it first", rollout.KeyOf(live), called.Namespace, called.Name)
	}
}

// hasInHand tells whether an object bears the labels of the ClusterServiceVersion, or of
// one that it replaces.
func (s *snapshot) hasInHand(o rollout.Object) bool {
	if install.Labelled(o, s.csv) {
		return true
	}
	for _, older := range s.upgrade.From {
		if install.Labelled(o, older) {
			return true
		}
	}
	return false
}

// owner is the ClusterServiceVersion whose labels an object bears, as namespace/name; empty when
// it is gone.
func (s *snapshot) owner(o rollout.Object) string {
	labels := o.GetLabels()
	id := labels[vocabulary.LabelOwnerNamespace] + "/" + labels[vocabulary.LabelOwner]
	if labels[vocabulary.LabelOwnerKind] != operatorsv1alpha1.ClusterServiceVersionKind || !s.exists(id) {
		return ""
	}
	return id
}

// calls tells whether a Service is one of the ClusterServiceVersion's.
func (s *snapshot) calls(service *apiregistrationv1.ServiceReference) bool {
	return service.Namespace == s.csv.Namespace && s.observed.Services[service.Name] != nil
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
	services, err := c.Aggregator.ApiregistrationV1().APIServices().List(ctx, owned)
	if err != nil {
		return err
	}
	for i := range services.Items {
		if err := deleteExactly(ctx, c.Aggregator.ApiregistrationV1().APIServices(), &services.Items[i]); err != nil {
			return err
		}
	}
	return nil
}

// withoutForeignManagedFields keeps who wrote what of the derived objects, which are
// repaired.
func withoutForeignManagedFields(o any) (any, error) {
	if object, ok := o.(rollout.Object); ok && install.Managed(object) {
		return o, nil
	}
	return withoutManagedFields(o)
}
