package live

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/decide"
)

// Registrations lists the registrations that the options select.
func (r *Reader) Registrations(ctx context.Context, which metav1.ListOptions) (decide.Registrations, error) {
	validating, err := r.Kube.AdmissionregistrationV1().ValidatingWebhookConfigurations().List(ctx, which)
	if err != nil {
		return decide.Registrations{}, err
	}
	mutating, err := r.Kube.AdmissionregistrationV1().MutatingWebhookConfigurations().List(ctx, which)
	if err != nil {
		return decide.Registrations{}, err
	}
	apiServices, err := r.apiServices(ctx, which)
	if err != nil {
		return decide.Registrations{}, err
	}
	return decide.Registrations{Validating: Pointers(validating.Items), Mutating: Pointers(mutating.Items), APIServices: Pointers(apiServices)}, nil
}

// apiServices returns the selected APIServices; none if the API server does not serve the kind.
func (r *Reader) apiServices(ctx context.Context, which metav1.ListOptions) ([]apiregistrationv1.APIService, error) {
	list, err := r.Aggregator.ApiregistrationV1().APIServices().List(ctx, which)
	if err != nil {
		return nil, utilerrors.FilterOut(err, apierrors.IsNotFound)
	}
	return list.Items, nil
}
