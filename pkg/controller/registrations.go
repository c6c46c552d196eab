package controller

import (
	"context"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// liveRegistrations are what makes API servers call an operator, as the API server has it now:
// all but conversions, which are part of definitions.
type liveRegistrations struct {
	validating  []*admissionregistrationv1.ValidatingWebhookConfiguration
	mutating    []*admissionregistrationv1.MutatingWebhookConfiguration
	apiServices []*apiregistrationv1.APIService
}

func (c *Controller) liveRegistrations(ctx context.Context, which metav1.ListOptions) (liveRegistrations, error) {
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
