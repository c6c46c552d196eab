package prober

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/webhookconfig"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
)

// markers are canaries that call nothing, one for each kind of configuration; nil for a kind that is not asked about.
type markers struct {
	validating *admissionregistrationv1.ValidatingWebhookConfiguration
	mutating   *admissionregistrationv1.MutatingWebhookConfiguration
}

// newMarkers returns markers with new names.
func newMarkers(csv *operatorsv1alpha1.ClusterServiceVersion, deployment string, kinds webhookconfig.Kinds) (m markers) {
	occasion := rand.Text()
	if kinds.Validating {
		m.validating = render.ValidatingMarker(csv, deployment, occasion)
	}
	if kinds.Mutating {
		m.mutating = render.MutatingMarker(csv, deployment, occasion)
	}
	return m
}

func (m markers) create(ctx context.Context, p *Prober) error {
	admission, options := p.Kube.AdmissionregistrationV1(), metav1.CreateOptions{FieldManager: wellknown.FieldManager}
	if m.validating != nil {
		if _, err := admission.ValidatingWebhookConfigurations().Create(ctx, m.validating, options); err != nil {
			return err
		}
	}
	if m.mutating != nil {
		if _, err := admission.MutatingWebhookConfigurations().Create(ctx, m.mutating, options); err != nil {
			return err
		}
	}
	return nil
}

func (m markers) names() (all []string) {
	if m.validating != nil {
		all = append(all, m.validating.Name)
	}
	if m.mutating != nil {
		all = append(all, m.mutating.Name)
	}
	return all
}

// remove deletes the markers. gone is set if one did not exist.
func (m markers) remove(ctx context.Context, p *Prober) (gone bool, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ReconcileTimeout)
	defer cancel()
	admission := p.Kube.AdmissionregistrationV1()
	var failed []error
	if m.validating != nil {
		failed = append(failed, admission.ValidatingWebhookConfigurations().Delete(ctx, m.validating.Name, metav1.DeleteOptions{}))
	}
	if m.mutating != nil {
		failed = append(failed, admission.MutatingWebhookConfigurations().Delete(ctx, m.mutating.Name, metav1.DeleteOptions{}))
	}
	return slices.ContainsFunc(failed, apierrors.IsNotFound), utilerrors.FilterOut(errors.Join(failed...), apierrors.IsNotFound)
}
