package live

import (
	"context"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// Registrations are all registrations except conversions, which are part of definitions.
type Registrations struct {
	Validating  []*admissionregistrationv1.ValidatingWebhookConfiguration
	Mutating    []*admissionregistrationv1.MutatingWebhookConfiguration
	APIServices []*apiregistrationv1.APIService
}

// Registrations lists the registrations that the options select.
func (r *Reader) Registrations(ctx context.Context, which metav1.ListOptions) (Registrations, error) {
	validating, err := r.Kube.AdmissionregistrationV1().ValidatingWebhookConfigurations().List(ctx, which)
	if err != nil {
		return Registrations{}, err
	}
	mutating, err := r.Kube.AdmissionregistrationV1().MutatingWebhookConfigurations().List(ctx, which)
	if err != nil {
		return Registrations{}, err
	}
	apiServices, err := r.apiServices(ctx, which)
	if err != nil {
		return Registrations{}, err
	}
	return Registrations{Pointers(validating.Items), Pointers(mutating.Items), Pointers(apiServices)}, nil
}

// All returns the registrations in the order of deletion: webhooks first, which could deny the others.
func (l Registrations) All() []drift.Object {
	return slices.Concat(drift.Objects(l.Validating), drift.Objects(l.Mutating), drift.Objects(l.APIServices))
}

// apiServices returns the selected APIServices; none if the API server does not serve the kind.
func (r *Reader) apiServices(ctx context.Context, which metav1.ListOptions) ([]apiregistrationv1.APIService, error) {
	list, err := r.Aggregator.ApiregistrationV1().APIServices().List(ctx, which)
	if err != nil {
		return nil, utilerrors.FilterOut(err, apierrors.IsNotFound)
	}
	return list.Items, nil
}
