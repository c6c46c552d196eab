package webhookconfig

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Kinds are kinds of webhook configurations. An API server observes each of them by itself.
type Kinds struct{ Validating, Mutating bool }

// Add adds the kind of an object; none if it is not a webhook configuration.
func (k *Kinds) Add(o metav1.Object) {
	switch o.(type) {
	case *admissionregistrationv1.ValidatingWebhookConfiguration:
		k.Validating = true
	case *admissionregistrationv1.MutatingWebhookConfiguration:
		k.Mutating = true
	}
}

// With returns these and other kinds.
func (k Kinds) With(others Kinds) Kinds {
	return Kinds{k.Validating || others.Validating, k.Mutating || others.Mutating}
}
