// Package registration reads webhook configurations and APIServices as one kind: what they call, and
// which CAs and which certificate generation they trust.
package registration

import (
	"cmp"
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// IsAPIService reports whether a webhook stands for an owned APIService.
func IsAPIService(w render.Webhook) bool { return w.Description.Type == csvspec.APIServiceType }

// PortCalled returns the port that API servers call, with its default.
func PortCalled(live drift.Object) int32 { return cmp.Or(PortOf(live), DefaultPort) }

// WithLiveBundle returns a webhook with the caBundle of its live registration.
func WithLiveBundle(w render.Webhook, live drift.Object) render.Webhook {
	bundle := BundleOf(live)
	if w.Validating != nil {
		w.Validating = w.Validating.DeepCopy()
		w.Validating.Webhooks[0].ClientConfig.CABundle = bundle
	}
	if w.Mutating != nil {
		w.Mutating = w.Mutating.DeepCopy()
		w.Mutating.Webhooks[0].ClientConfig.CABundle = bundle
	}
	if w.APIService != nil {
		w.APIService = w.APIService.DeepCopy()
		w.APIService.Spec.CABundle = bundle
	}
	return w
}

// BundleOf returns the caBundle of a registration.
func BundleOf(o drift.Object) []byte {
	for _, client := range ClientsOf(o) {
		return client.CABundle
	}
	return nil
}

// WithoutRules returns a registration that API servers do not call. An APIService without a
// caBundle is one.
func WithoutRules(o drift.Object) drift.Object {
	switch c := o.DeepCopyObject().(type) {
	case *admissionregistrationv1.ValidatingWebhookConfiguration:
		c.Webhooks[0].Rules = nil
		return c
	case *admissionregistrationv1.MutatingWebhookConfiguration:
		c.Webhooks[0].Rules = nil
		return c
	default:
		return o
	}
}

// RulesOf returns the rules of a webhook configuration.
func RulesOf(o drift.Object) []admissionregistrationv1.RuleWithOperations {
	switch c := o.(type) {
	case *admissionregistrationv1.ValidatingWebhookConfiguration:
		for _, w := range c.Webhooks {
			return w.Rules
		}
	case *admissionregistrationv1.MutatingWebhookConfiguration:
		for _, w := range c.Webhooks {
			return w.Rules
		}
	}
	return nil
}

// PortOf returns the port that a registration names; 0 for none.
func PortOf(live drift.Object) int32 {
	if called := ServiceOf(live); called != nil && called.Port != nil {
		return *called.Port
	}
	return 0
}

// CallSameService reports whether two registrations call the same Service.
func CallSameService(a, b drift.Object) bool {
	one, other := ServiceOf(a), ServiceOf(b)
	return one != nil && other != nil && one.Namespace == other.Namespace && one.Name == other.Name
}

// Of returns the object that registers a webhook; nil for a conversion webhook.
func Of(w render.Webhook) drift.Object {
	switch {
	case w.Validating != nil:
		return w.Validating
	case w.Mutating != nil:
		return w.Mutating
	case w.APIService != nil:
		return w.APIService
	default:
		return nil
	}
}

// Registration is a live registration of any kind.
type Registration struct {
	Kind   operatorsv1alpha1.WebhookAdmissionType
	Object drift.Object
}

// Trust is the trust of a registration or conversion.
type Trust struct {
	Name       string // for messages: "ValidatingWebhookConfiguration v.example.com-1a2b"
	Version    string // changes with the spec
	CABundle   []byte
	Generation int64
}

// TrustOf returns the trust of an object. An APIService has no metadata.generation, and a
// resourceVersion that changes with its availability.
func TrustOf(o drift.Object, caBundle []byte) Trust {
	version := fmt.Sprintf("%s/%d", o.GetUID(), o.GetGeneration())
	if service, ok := o.(*apiregistrationv1.APIService); ok {
		version += "/" + names.Hash(service.Spec.String())
	}
	return Trust{Name: drift.KeyOf(o), Version: version, CABundle: caBundle, Generation: GenerationOf(o)}
}

// ServiceOf returns the Service that a registration calls; nil if another client changed that.
func ServiceOf(live drift.Object) *admissionregistrationv1.ServiceReference {
	if clients := ClientsOf(live); len(clients) > 0 {
		return clients[0].Service
	}
	return nil
}

// ClientsOf returns how API servers call the webhooks of a registration: one, unless another client
// added some.
func ClientsOf(o drift.Object) []admissionregistrationv1.WebhookClientConfig {
	var all []admissionregistrationv1.WebhookClientConfig
	switch c := o.(type) {
	case *admissionregistrationv1.ValidatingWebhookConfiguration:
		for _, w := range c.Webhooks {
			all = append(all, w.ClientConfig)
		}
	case *admissionregistrationv1.MutatingWebhookConfiguration:
		for _, w := range c.Webhooks {
			all = append(all, w.ClientConfig)
		}
	case *apiregistrationv1.APIService:
		all = append(all, clientOf(c))
	}
	return all
}

func clientOf(s *apiregistrationv1.APIService) admissionregistrationv1.WebhookClientConfig {
	client := admissionregistrationv1.WebhookClientConfig{CABundle: s.Spec.CABundle}
	if called := s.Spec.Service; called != nil {
		client.Service = &admissionregistrationv1.ServiceReference{Namespace: called.Namespace, Name: called.Name, Port: called.Port}
	}
	return client
}

// DescriptionHash returns the hash of the webhook description that a registration was made from.
func DescriptionHash(o drift.Object) string { return o.GetLabels()[wellknown.LabelWebhookHash] }
