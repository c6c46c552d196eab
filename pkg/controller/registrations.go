package controller

import (
	"context"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// liveRegistrations are what makes API servers call an operator, as the API server has it now:
// all but conversions, which are part of definitions.
type liveRegistrations struct {
	validating  []*admissionregistrationv1.ValidatingWebhookConfiguration
	mutating    []*admissionregistrationv1.MutatingWebhookConfiguration
	apiServices []*apiregistrationv1.APIService
}

func (c *writer) liveRegistrations(ctx context.Context, which metav1.ListOptions) (liveRegistrations, error) {
	validating, err := c.Kube.AdmissionregistrationV1().ValidatingWebhookConfigurations().List(ctx, which)
	if err != nil {
		return liveRegistrations{}, err
	}
	mutating, err := c.Kube.AdmissionregistrationV1().MutatingWebhookConfigurations().List(ctx, which)
	if err != nil {
		return liveRegistrations{}, err
	}
	apiServices, err := c.liveAPIServices(ctx, which)
	if err != nil {
		return liveRegistrations{}, err
	}
	return liveRegistrations{pointers(validating.Items), pointers(mutating.Items), pointers(apiServices)}, nil
}

// proven are those that belong to a ClusterServiceVersion by more than their labels.
func (l liveRegistrations) proven(o owners.Ownership) liveRegistrations {
	return liveRegistrations{proven(o, l.validating), proven(o, l.mutating), proven(o, l.apiServices)}
}

// unproven are the others.
func (l liveRegistrations) unproven(o owners.Ownership) []drift.Object {
	return append(append(unproven(o, l.validating), unproven(o, l.mutating)...), unproven(o, l.apiServices)...)
}

// liveAPIServices are those that the API server selects; none where it does not know the kind.
func (c *writer) liveAPIServices(ctx context.Context, which metav1.ListOptions) ([]apiregistrationv1.APIService, error) {
	list, err := c.Aggregator.ApiregistrationV1().APIServices().List(ctx, which)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}
