package live

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/decide"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// Trust reads the Secret of a Deployment, and everything that makes API servers call its webhooks.
func (r *Reader) Trust(ctx context.Context, namespace string, q decide.ReadTrust) (decide.Trust, error) {
	var trust decide.Trust
	var err error
	if trust.Secret, err = r.Secret(ctx, namespace, q.Secret); err != nil {
		return trust, err
	}
	if trust.Registrations, err = r.Registrations(ctx, metav1.ListOptions{LabelSelector: q.Selector}); err != nil {
		return trust, err
	}
	if trust.Unlabelled, err = r.unlabelled(ctx, trust.Registrations, q.Recorded); err != nil {
		return trust, err
	}
	trust.CRDs, err = r.Definitions(ctx, q.CRDs)
	return trust, err
}

// unlabelled returns recorded registrations without their labels. API servers still call them.
func (r *Reader) unlabelled(ctx context.Context, labelled decide.Registrations, recorded []managerv1alpha1.WebhookStatus) (all []drift.Object, err error) {
	admission, apis := r.Kube.AdmissionregistrationV1(), r.Aggregator.ApiregistrationV1()
	for _, w := range recorded {
		switch w.Type {
		case operatorsv1alpha1.ValidatingAdmissionWebhook:
			all, err = appendNamed(ctx, all, labelled.Validating, w.Configuration, admission.ValidatingWebhookConfigurations().Get)
		case operatorsv1alpha1.MutatingAdmissionWebhook:
			all, err = appendNamed(ctx, all, labelled.Mutating, w.Configuration, admission.MutatingWebhookConfigurations().Get)
		case csvspec.APIServiceType:
			all, err = appendNamed(ctx, all, labelled.APIServices, w.Configuration, apis.APIServices().Get)
		default: // conversions are found by the names of their definitions
		}
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

func appendNamed[T drift.Object](ctx context.Context, all []drift.Object, labelled []T, name string, get func(context.Context, string, metav1.GetOptions) (T, error)) ([]drift.Object, error) {
	if !canExist(name) || slices.ContainsFunc(labelled, func(o T) bool { return o.GetName() == name }) {
		return all, nil
	}
	live, err := get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return all, nil
	}
	if err != nil {
		return nil, err
	}
	return append(all, live), nil
}
