package decide

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// ConfigurationKinds are kinds of webhook configurations. An API server observes each of them by itself.
type ConfigurationKinds struct{ Validating, Mutating bool }

// KindsOf returns those of the webhook configurations of a Trust.
func KindsOf(t Trust) ConfigurationKinds {
	kinds := ConfigurationKinds{Validating: len(t.Validating) > 0, Mutating: len(t.Mutating) > 0}
	for _, o := range t.Unlabelled {
		kinds.add(o)
	}
	return kinds
}

func (k *ConfigurationKinds) add(o drift.Object) {
	switch o.(type) {
	case *admissionregistrationv1.ValidatingWebhookConfiguration:
		k.Validating = true
	case *admissionregistrationv1.MutatingWebhookConfiguration:
		k.Mutating = true
	}
}

// DeclaredKinds returns those of the webhooks that a ClusterServiceVersion declares.
func DeclaredKinds(csv *operatorsv1alpha1.ClusterServiceVersion) (kinds ConfigurationKinds) {
	for _, w := range csv.Spec.WebhookDefinitions {
		kinds.Validating = kinds.Validating || w.Type == operatorsv1alpha1.ValidatingAdmissionWebhook
		kinds.Mutating = kinds.Mutating || w.Type == operatorsv1alpha1.MutatingAdmissionWebhook
	}
	return kinds
}
