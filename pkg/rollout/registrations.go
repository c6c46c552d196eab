package rollout

import (
	"cmp"
	"fmt"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/certgeneration"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/vocabulary"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// registrationOf is the object that registers a webhook; nil for a conversion webhook.
func registrationOf(w install.Webhook) drift.Object {
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

// registered is the live registration of a webhook; nil when there is none.
func (p *planner) registered(w install.Webhook) drift.Object {
	for _, live := range p.Observed.registrations() {
		if live.kind == w.Description.Type && live.object.GetName() == registrationOf(w).GetName() {
			return live.object
		}
	}
	return nil
}

// unregisterStale takes out of service what the ClusterServiceVersion registered
// and does not declare any more.
func (p *planner) unregisterStale() {
	for _, live := range p.Observed.registrations() {
		if !p.declares(live) {
			p.unregister(live)
		}
	}
}

func (p *planner) declares(live registration) bool {
	for _, d := range p.Desired.Deployments {
		for _, w := range d.Webhooks {
			if w.Description.Type == live.kind && registrationOf(w).GetName() == live.object.GetName() {
				return true
			}
		}
	}
	return false
}

// registration is a live one, whatever its kind.
type registration struct {
	kind   operatorsv1alpha1.WebhookAdmissionType
	object drift.Object
}

// registrations are all live ones, the oldest first: caches have no order of their own.
func (o Observed) registrations() []registration {
	var all []registration
	for _, c := range o.Validating {
		all = append(all, registration{operatorsv1alpha1.ValidatingAdmissionWebhook, c})
	}
	for _, c := range o.Mutating {
		all = append(all, registration{operatorsv1alpha1.MutatingAdmissionWebhook, c})
	}
	for _, s := range o.APIServices {
		all = append(all, registration{install.APIServiceType, s})
	}
	slices.SortFunc(all, func(a, b registration) int {
		return cmp.Or(
			a.object.GetCreationTimestamp().Compare(b.object.GetCreationTimestamp().Time),
			cmp.Compare(a.object.GetName(), b.object.GetName()))
	})
	return all
}

// Configurations are the names of the registrations that exist, by the webhook that
// they say they are for. Of several for one webhook the oldest counts.
func (o Observed) Configurations(csv *operatorsv1alpha1.ClusterServiceVersion) map[install.Identity]string {
	found := map[install.Identity]string{}
	for _, description := range csv.Spec.WebhookDefinitions {
		of := install.IdentityOf(description)
		for _, live := range o.registrations() {
			if found[of] == "" && live.kind == description.Type && live.object.GetLabels()[vocabulary.LabelWebhookGenerateName] == names.LabelValue(description.GenerateName) {
				found[of] = live.object.GetName()
			}
		}
	}
	return found
}

// Trusting is something that makes API servers call a Service, and what it trusts.
type Trusting struct {
	Name     string // for people: "ValidatingWebhookConfiguration v.example.com-1a2b"
	Version  string // changes with every change of its spec
	CABundle []byte
	// Generation is the number of the newest certificate generation in CABundle.
	Generation int64
}

// Trusting are the live registrations, and the conversions, that call a Service of the
// ClusterServiceVersion's namespace.
func (o Observed) Trusting(namespace, service string) []Trusting {
	var all []Trusting
	for _, live := range o.registrations() {
		if install.IsCanary(live.object) {
			continue // it makes API servers call nobody but us
		}
		for _, client := range clientsOf(live.object) {
			if client.Service != nil && client.Service.Namespace == namespace && client.Service.Name == service {
				all = append(all, trusting(live.object, client.CABundle))
			}
		}
	}
	for _, crd := range o.CRDs {
		in, by := install.ConvertedBy(crd)
		if in != namespace || by != service {
			continue
		}
		// One without a caBundle was opened by somebody for a webhook to come.
		if bundle := crd.Spec.Conversion.Webhook.ClientConfig.CABundle; len(bundle) > 0 {
			all = append(all, trusting(crd, bundle))
		}
	}
	slices.SortStableFunc(all, func(a, b Trusting) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// trusting counts changes by the generation. An APIService has none, and a resourceVersion that
// changes with its availability.
func trusting(o drift.Object, caBundle []byte) Trusting {
	version := fmt.Sprintf("%s/%d", o.GetUID(), o.GetGeneration())
	if service, ok := o.(*apiregistrationv1.APIService); ok {
		version += "/" + names.Hash(service.Spec.String())
	}
	return Trusting{Name: drift.KeyOf(o), Version: version, CABundle: caBundle, Generation: generationOf(o)}
}

// serviceOf is what a live registration calls; nil when somebody made it call
// something else.
func serviceOf(live drift.Object) *admissionregistrationv1.ServiceReference {
	if clients := clientsOf(live); len(clients) > 0 {
		return clients[0].Service
	}
	return nil
}

// clientsOf says how API servers call the webhooks of a registration: one, unless
// somebody added another.
func clientsOf(o drift.Object) []admissionregistrationv1.WebhookClientConfig {
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

// clientOf says how API servers call an APIService: it has no path of its own.
func clientOf(s *apiregistrationv1.APIService) admissionregistrationv1.WebhookClientConfig {
	client := admissionregistrationv1.WebhookClientConfig{CABundle: s.Spec.CABundle}
	if called := s.Spec.Service; called != nil {
		client.Service = &admissionregistrationv1.ServiceReference{Namespace: called.Namespace, Name: called.Name, Port: called.Port}
	}
	return client
}

// generationOf is the number of the certificate generation that a registration
// trusts; 0 when it does not say, and when another client than the manager may have said so: an
// edited number would keep a live registration from being repaired.
func generationOf(o drift.Object) int64 {
	if !drift.SoleOwner(o, drift.GenerationField) {
		return 0
	}
	return notedGeneration(o)
}

// writtenLater reports whether the manager wrote a live registration for a later certificate
// generation than the one that is wanted is for.
func writtenLater(live, wanted drift.Object) bool {
	return certgeneration.Later(generationOf(live), notedGeneration(wanted))
}

// notedGeneration is the number that a registration says, whoever wrote it; 0 for none.
func notedGeneration(o drift.Object) int64 {
	return certgeneration.Parse(o.GetAnnotations()[vocabulary.AnnotationGeneration])
}
