package rollout

import (
	"fmt"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/conversion"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/registration"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/workload"
)

// delegate decides about a webhook whose certificates and caBundle are the
// administrator's. What injects a caBundle needs something to inject it into: so it is
// first registered without rules, which calls nobody, and gets its rules once its
// endpoints serve what was injected. Whatever is written carries the caBundle that is
// live, so a handover leaves none empty.
func (p *planner) delegate(d render.Deployment, w render.Webhook, backend workload.Progress) webhookView {
	live := p.registered(w)
	if live == nil {
		if reason, message := p.unready(w, backend); reason != "" {
			return p.remembering(waiting(w, reason, message))
		}
		p.want(registration.WithoutRules(registration.Of(w)), nil)
		return p.remembering(waiting(w, reasonNotInjected, "the registration is being written without rules, for its caBundle to be injected"))
	}
	w = registration.WithLiveBundle(w, live)
	desired := registration.Of(w)
	if len(registration.RulesOf(live)) > 0 || len(registration.RulesOf(desired)) == 0 {
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
	if len(registration.BundleOf(desired)) == 0 && backend.Complete() {
		reason, message = reasonNotInjected, fmt.Sprintf("nobody has injected a caBundle into %s yet: check the annotations in the Subscription's spec.config, and whoever is to act on them", drift.KeyOf(live))
	}
	if reason != "" {
		p.want(registration.WithoutRules(desired), live)
		return p.remembering(waiting(w, reason, message))
	}
	p.want(desired, live)
	return waiting(w, "Registering", "its endpoints serve what was injected: the registration gets its rules")
}

const reasonNotInjected = "CABundleNotInjected"

// unready is what keeps any webhook from being registered, whoever issues certificates.
func (p *planner) unready(w render.Webhook, backend workload.Progress) (reason, message string) {
	switch {
	case !backend.Complete() && !(p.wasRegistered(w) && backend.Available):
		return "DeploymentNotAvailable", backend.Message
	case p.uncovered(w):
		return p.unlabelled()
	default:
		return "", ""
	}
}

// delegatedObstacle is what keeps a webhook from being called while its certificate is
// the administrator's: what its endpoints serve must be what was injected.
func (p *planner) delegatedObstacle(d render.Deployment, w render.Webhook, backend workload.Progress) (reason, message string) {
	if reason, message = p.unready(w, backend); reason == "" && p.Policy.Gate == GateServing {
		return p.silence(d, w, backend)
	}
	return reason, message
}

// injectedInto is the caBundle that was injected for a webhook: of a conversion that of
// its first definition.
func (p *planner) injectedInto(w render.Webhook) string {
	if registration.Of(w) != nil {
		return string(registration.BundleOf(registration.Of(w)))
	}
	for _, c := range w.Conversions {
		return string(conversion.WithLiveBundle(c, p.Observed.CRDs[c.CRD]).Spec.Webhook.ClientConfig.CABundle)
	}
	return ""
}
