package rollout

import (
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// delegate decides about a webhook whose certificates and caBundle are the
// administrator's. What injects a caBundle needs something to inject it into: so it is
// first registered without rules, which calls nobody, and gets its rules once its
// endpoints serve what was injected. Whatever is written carries the caBundle that is
// live, so a handover leaves none empty.
func (p *planner) delegate(d install.Deployment, w install.Webhook, backend progress) webhookView {
	live := p.registered(w)
	if live == nil {
		if reason, message := p.unready(w, backend); reason != "" {
			return p.remembering(waiting(w, reason, message))
		}
		p.want(withoutRules(registrationOf(w)), nil)
		return p.remembering(waiting(w, reasonNotInjected, "the registration is being written without rules, for its caBundle to be injected"))
	}
	w = injected(w, live)
	desired := registrationOf(w)
	if len(rulesOf(live)) > 0 || len(rulesOf(desired)) == 0 {
		if view, decided := p.inherit(d, w, live, backend); decided {
			return view
		}
		if view, decided := p.relocate(d, w, live, backend); decided {
			return view
		}
		if view, decided := p.reroute(d, w, live, backend); decided {
			return view
		}
		p.want(p.covering(desired, live), live)
		return p.reachability(d, w, live.GetName(), p.handedOver(w, p.bornAt(live)), backend)
	}
	reason, message := p.obstacle(d, w, backend)
	if len(bundleOf(desired)) == 0 && backend.complete() {
		reason, message = reasonNotInjected, fmt.Sprintf("nobody has injected a caBundle into %s yet: check the annotations in the Subscription's spec.config, and whoever is to act on them", drift.KeyOf(live))
	}
	if reason != "" {
		p.want(withoutRules(desired), live)
		return p.remembering(waiting(w, reason, message))
	}
	p.want(desired, live)
	return waiting(w, "Registering", "its endpoints serve what was injected: the registration gets its rules")
}

const reasonNotInjected = "CABundleNotInjected"

// unready is what keeps any webhook from being registered, whoever issues certificates.
func (p *planner) unready(w install.Webhook, backend progress) (reason, message string) {
	switch {
	case !backend.complete() && !(p.wasRegistered(w) && backend.available):
		return "DeploymentNotAvailable", backend.message
	case p.uncovered(w):
		return p.unlabelled()
	default:
		return "", ""
	}
}

// delegatedObstacle is what keeps a webhook from being called while its certificate is
// the administrator's: what its endpoints serve must be what was injected.
func (p *planner) delegatedObstacle(d install.Deployment, w install.Webhook, backend progress) (reason, message string) {
	if reason, message = p.unready(w, backend); reason == "" && p.Policy.Gate == GateServing {
		return p.silence(d, w, backend)
	}
	return reason, message
}

// injected is a webhook with the caBundle of its live registration.
func injected(w install.Webhook, live drift.Object) install.Webhook {
	bundle := bundleOf(live)
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

// bundleOf is what a registration trusts.
func bundleOf(o drift.Object) []byte {
	for _, client := range clientsOf(o) {
		return client.CABundle
	}
	return nil
}

// withoutRules is a registration that calls nobody. An APIService without a caBundle is one.
func withoutRules(o drift.Object) drift.Object {
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

func rulesOf(o drift.Object) []admissionregistrationv1.RuleWithOperations {
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

// delegated is a conversion as it is to be while the caBundle is the administrator's:
// with the one that is live, or, where none is, the one that came with the certificate:
// a CustomResourceDefinition cannot be registered without being converted.
func delegated(c install.Conversion, live *apiextensionsv1.CustomResourceDefinition) install.Conversion {
	if live == nil || !c.Delegated || !converted(live, c) || len(live.Spec.Conversion.Webhook.ClientConfig.CABundle) == 0 {
		return c
	}
	c.Spec = *c.Spec.DeepCopy()
	c.Spec.Webhook.ClientConfig.CABundle = live.Spec.Conversion.Webhook.ClientConfig.CABundle
	return c
}

// injectedInto is the caBundle that was injected for a webhook: of a conversion that of
// its first definition.
func (p *planner) injectedInto(w install.Webhook) string {
	if registrationOf(w) != nil {
		return string(bundleOf(registrationOf(w)))
	}
	for _, c := range w.Conversions {
		return string(delegated(c, p.Observed.CRDs[c.CRD]).Spec.Webhook.ClientConfig.CABundle)
	}
	return ""
}
