package decide

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

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
