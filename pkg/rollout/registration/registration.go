// Package registration reads webhook configurations and APIServices as one kind.
package registration

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/certgeneration"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/webhookconfig"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// IsAPIService reports whether a webhook stands for an owned APIService.
func IsAPIService(w render.Webhook) bool { return w.Description.Type == csvspec.APIServiceType }

// PortCalled returns the port that API servers call, with its default.
func PortCalled(live drift.Object) int32 { return cmp.Or(PortOf(live), csvspec.DefaultPort) }

// WithLiveBundle returns a webhook with the caBundle of its live registration.
func WithLiveBundle(w render.Webhook, live drift.Object) render.Webhook {
	w.Registration = WithBundle(w.Registration, BundleOf(live))
	return w
}

// WithBundle returns a registration with another caBundle.
func WithBundle(o drift.Object, bundle []byte) drift.Object {
	changed := o.DeepCopyObject().(drift.Object)
	for _, w := range webhooksOf(changed) {
		w.client.CABundle = bundle
	}
	if api, ok := changed.(*apiregistrationv1.APIService); ok {
		api.Spec.CABundle = bundle
	}
	return changed
}

// WithLiveSelector returns a desired registration with the live namespaceSelector.
func WithLiveSelector(desired, live drift.Object) drift.Object {
	selecting := webhooksOf(live)
	if len(selecting) == 0 {
		return desired
	}
	kept := desired.DeepCopyObject().(drift.Object)
	for _, w := range webhooksOf(kept) {
		*w.namespaceSelector = *selecting[0].namespaceSelector
	}
	return kept
}

// WithOpening returns a live registration that is open or closed as the desired one; the live one if that is so.
func WithOpening(live, desired drift.Object) drift.Object {
	if webhookconfig.OpenState(live) == managerv1alpha1.FailOpenClosed && webhookconfig.OpenState(desired) == managerv1alpha1.FailOpenClosed {
		return live
	}
	changed := live.DeepCopyObject().(drift.Object)
	webhookconfig.CopyOpening(changed, desired)
	if equality.Semantic.DeepEqual(changed, live) {
		return live
	}
	return changed
}

// HaveBundle reports whether each call of a registration has a caBundle.
func HaveBundle(o drift.Object, bundle []byte) bool {
	return !slices.ContainsFunc(ClientsOf(o), func(c admissionregistrationv1.WebhookClientConfig) bool { return !bytes.Equal(c.CABundle, bundle) })
}

// BundleOf returns the caBundle of a registration.
func BundleOf(o drift.Object) []byte {
	for _, client := range ClientsOf(o) {
		return client.CABundle
	}
	return nil
}

// WithoutRules returns a registration that API servers do not call, as an APIService without a caBundle.
func WithoutRules(o drift.Object) drift.Object {
	uncalled := o.DeepCopyObject().(drift.Object)
	for _, w := range webhooksOf(uncalled) {
		*w.rules = nil
	}
	return uncalled
}

// RulesOf returns the rules of a webhook configuration.
func RulesOf(o drift.Object) []admissionregistrationv1.RuleWithOperations {
	for _, w := range webhooksOf(o) {
		return *w.rules
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

// Registration is a live registration of any kind.
type Registration struct {
	Kind   operatorsv1alpha1.WebhookAdmissionType
	Object drift.Object
}

// Of returns a live webhook configuration or APIService as a registration.
func Of(o drift.Object) Registration {
	switch o.(type) {
	case *admissionregistrationv1.ValidatingWebhookConfiguration:
		return Registration{operatorsv1alpha1.ValidatingAdmissionWebhook, o}
	case *admissionregistrationv1.MutatingWebhookConfiguration:
		return Registration{operatorsv1alpha1.MutatingAdmissionWebhook, o}
	default:
		return Registration{csvspec.APIServiceType, o}
	}
}

// Registers reports whether it registers a webhook.
func (r Registration) Registers(w render.Webhook) bool {
	return w.Description.Type == r.Kind && w.Registration.GetName() == r.Object.GetName()
}

// KeptByFinalizers returns the message about a deleted registration that its finalizers keep; empty without finalizers.
func KeptByFinalizers(o drift.Object) string {
	if len(o.GetFinalizers()) == 0 {
		return ""
	}
	return fmt.Sprintf("finalizers keep %s from being deleted: %s. Remove them, since API servers continue to call its webhooks",
		drift.KeyOf(o), strings.Join(o.GetFinalizers(), ", "))
}

// Trust is the trust of a registration or conversion.
type Trust struct {
	Name       string // for messages: "ValidatingWebhookConfiguration v.example.com-1a2b"
	Version    string // changes with what API servers call
	CABundle   []byte
	Generation int64
	Object     drift.Object
}

// TrustOf uses the spec of an APIService as version: it has no generation, and its resourceVersion changes often. Of a
// CustomResourceDefinition it uses the conversion and when the manager wrote it: other clients change its generation,
// and API servers know the conversion all the same.
func TrustOf(o drift.Object, caBundle []byte) Trust {
	version := fmt.Sprintf("%s/%d", o.GetUID(), o.GetGeneration())
	switch o := o.(type) {
	case *apiregistrationv1.APIService:
		version += "/" + names.Hash(o.Spec.String())
	case *apiextensionsv1.CustomResourceDefinition:
		if written := drift.ConversionWritten(o); written != "" {
			version = fmt.Sprintf("%s/%s", o.GetUID(), names.Hash(o.Spec.Conversion.String()+written))
		}
	}
	return Trust{Name: drift.KeyOf(o), Version: version, CABundle: caBundle, Generation: GenerationOf(o), Object: o}
}

// ServiceOf returns the Service that a registration calls; nil if another client changed that.
func ServiceOf(live drift.Object) *admissionregistrationv1.ServiceReference {
	if clients := ClientsOf(live); len(clients) > 0 {
		return clients[0].Service
	}
	return nil
}

// ClientsOf returns one call, unless another client added some.
func ClientsOf(o drift.Object) []admissionregistrationv1.WebhookClientConfig {
	if api, ok := o.(*apiregistrationv1.APIService); ok {
		return []admissionregistrationv1.WebhookClientConfig{clientOf(api)}
	}
	return lists.Map(webhooksOf(o), func(w webhook) admissionregistrationv1.WebhookClientConfig { return *w.client })
}

// webhook has pointers to the fields that validating and mutating webhooks have in common.
type webhook struct {
	client            *admissionregistrationv1.WebhookClientConfig
	rules             *[]admissionregistrationv1.RuleWithOperations
	namespaceSelector **metav1.LabelSelector
}

// webhooksOf returns the webhooks of a configuration. An APIService has none.
func webhooksOf(o drift.Object) []webhook {
	var all []webhook
	switch c := o.(type) {
	case *admissionregistrationv1.ValidatingWebhookConfiguration:
		for i := range c.Webhooks {
			w := &c.Webhooks[i]
			all = append(all, webhook{&w.ClientConfig, &w.Rules, &w.NamespaceSelector})
		}
	case *admissionregistrationv1.MutatingWebhookConfiguration:
		for i := range c.Webhooks {
			w := &c.Webhooks[i]
			all = append(all, webhook{&w.ClientConfig, &w.Rules, &w.NamespaceSelector})
		}
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

// DescriptionHash returns the hash of the webhook description that a registration was created from.
func DescriptionHash(o drift.Object) string { return o.GetLabels()[wellknown.LabelWebhookHash] }

// GenerationOf is 0 if another client may have written the number, which would prevent repairs.
func GenerationOf(o drift.Object) int64 {
	if !drift.SoleOwner(o, drift.GenerationField) {
		return 0
	}
	return AnnotatedGeneration(o)
}

// TrustsLater reports whether the manager wrote a live registration for a later generation.
func TrustsLater(live, wanted drift.Object) bool {
	return certgeneration.Later(GenerationOf(live), AnnotatedGeneration(wanted))
}

// AnnotatedGeneration returns the generation in the annotation, of any writer; 0 for none.
func AnnotatedGeneration(o drift.Object) int64 {
	return certgeneration.Parse(o.GetAnnotations()[wellknown.AnnotationGeneration])
}
