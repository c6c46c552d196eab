package rollout

import (
	"cmp"
	"slices"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/registration"
)

// registered is the live registration of a webhook; nil when there is none.
func (p *planner) registered(w render.Webhook) drift.Object {
	for _, live := range p.Observed.registrations() {
		if live.Kind == w.Description.Type && live.Object.GetName() == registration.Of(w).GetName() {
			return live.Object
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

func (p *planner) declares(live registration.Registration) bool {
	for _, d := range p.Desired.Deployments {
		for _, w := range d.Webhooks {
			if w.Description.Type == live.Kind && registration.Of(w).GetName() == live.Object.GetName() {
				return true
			}
		}
	}
	return false
}

// registrations are all live ones, the oldest first: caches have no order of their own.
func (o Observed) registrations() []registration.Registration {
	var all []registration.Registration
	for _, c := range o.Validating {
		all = append(all, registration.Registration{Kind: operatorsv1alpha1.ValidatingAdmissionWebhook, Object: c})
	}
	for _, c := range o.Mutating {
		all = append(all, registration.Registration{Kind: operatorsv1alpha1.MutatingAdmissionWebhook, Object: c})
	}
	for _, s := range o.APIServices {
		all = append(all, registration.Registration{Kind: csvspec.APIServiceType, Object: s})
	}
	slices.SortFunc(all, func(a, b registration.Registration) int {
		return cmp.Or(
			a.Object.GetCreationTimestamp().Compare(b.Object.GetCreationTimestamp().Time),
			cmp.Compare(a.Object.GetName(), b.Object.GetName()))
	})
	return all
}

// Configurations are the names of the registrations that exist, by the webhook that
// they say they are for. Of several for one webhook the oldest counts.
func (o Observed) Configurations(csv *operatorsv1alpha1.ClusterServiceVersion) map[csvspec.Identity]string {
	found := map[csvspec.Identity]string{}
	for _, description := range csv.Spec.WebhookDefinitions {
		of := csvspec.IdentityOf(description)
		for _, live := range o.registrations() {
			if found[of] == "" && live.Kind == description.Type && live.Object.GetLabels()[wellknown.LabelWebhookGenerateName] == names.LabelValue(description.GenerateName) {
				found[of] = live.Object.GetName()
			}
		}
	}
	return found
}

// Trusting are the live registrations, and the conversions, that call a Service of the
// ClusterServiceVersion's namespace.
func (o Observed) Trusting(namespace, service string) []registration.Trust {
	var all []registration.Trust
	for _, live := range o.registrations() {
		if render.IsCanary(live.Object) {
			continue // it makes API servers call nobody but us
		}
		for _, client := range registration.ClientsOf(live.Object) {
			if client.Service != nil && client.Service.Namespace == namespace && client.Service.Name == service {
				all = append(all, registration.TrustOf(live.Object, client.CABundle))
			}
		}
	}
	for _, crd := range o.CRDs {
		in, by := owners.ConvertedBy(crd)
		if in != namespace || by != service {
			continue
		}
		// One without a caBundle was opened by somebody for a webhook to come.
		if bundle := crd.Spec.Conversion.Webhook.ClientConfig.CABundle; len(bundle) > 0 {
			all = append(all, registration.TrustOf(crd, bundle))
		}
	}
	slices.SortStableFunc(all, func(a, b registration.Trust) int { return cmp.Compare(a.Name, b.Name) })
	return all
}
