package prober

import (
	"context"
	"crypto/rand"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/decide"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/write"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
)

// markers are canaries that call nothing, one for each kind of configuration; nil for a kind that is not registered.
type markers struct {
	validating *admissionregistrationv1.ValidatingWebhookConfiguration
	mutating   *admissionregistrationv1.MutatingWebhookConfiguration
}

// mark writes a new marker for each kind.
func (p *Prober) mark(ctx context.Context, csv *operatorsv1alpha1.ClusterServiceVersion, deployment string, kinds decide.ConfigurationKinds) (m markers, err error) {
	occasion := rand.Text()
	admission := p.Kube.AdmissionregistrationV1()
	if kinds.Validating {
		marker := render.ValidatingMarker(csv, deployment, occasion)
		if m.validating, err = admission.ValidatingWebhookConfigurations().Create(ctx, marker, metav1.CreateOptions{FieldManager: wellknown.FieldManager}); err != nil {
			return markers{}, err
		}
	}
	if kinds.Mutating {
		marker := render.MutatingMarker(csv, deployment, occasion)
		if m.mutating, err = admission.MutatingWebhookConfigurations().Create(ctx, marker, metav1.CreateOptions{FieldManager: wellknown.FieldManager}); err != nil {
			return markers{validating: m.validating}, err
		}
	}
	return m, nil
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

// remove deletes the markers. One that stays is removed as an undeclared registration.
func (m markers) remove(ctx context.Context, p *Prober) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ReconcileTimeout)
	defer cancel()
	admission := p.Kube.AdmissionregistrationV1()
	if m.validating != nil {
		p.deleted(m.validating.Name, write.Delete(ctx, admission.ValidatingWebhookConfigurations(), m.validating))
	}
	if m.mutating != nil {
		p.deleted(m.mutating.Name, write.Delete(ctx, admission.MutatingWebhookConfigurations(), m.mutating))
	}
}

func (p *Prober) deleted(canary string, err error) {
	if err != nil {
		p.Log.WithError(err).WithField("canary", canary).Warn("a canary stays until its ClusterServiceVersion is reconciled again")
	}
}
