package rollout

import (
	"bytes"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install"
)

// writeSecret puts the serving certificate into the cluster: before the pods that
// mount it, but after the registrations that have to trust it first.
func (p *planner) writeSecret(d install.Deployment, afterTrust bool) {
	write, ok := p.Secrets[d.Object.Name]
	if !ok || write.AfterTrust != afterTrust || afterTrust && !p.trusted(d) {
		return
	}
	step := Step{Verb: Update, Object: write.Object}
	if write.Object.ResourceVersion == "" {
		step.Verb = Create
	}
	p.take(step)
}

// trusted tells whether each live registration of a Deployment's webhooks trusts what
// is desired, or does once the plan so far is carried out. One that is refused, that
// another client holds, or that a later manager wrote, trusts something else.
func (p *planner) trusted(d install.Deployment) bool {
	for _, w := range d.Webhooks {
		desired, live := registrationOf(w), p.registered(w)
		if live != nil && !p.writes(desired) && !trustsAlike(desired, live) {
			return false
		}
		if slices.ContainsFunc(w.Conversions, p.distrusts) {
			return false
		}
	}
	return true
}

// distrusts tells whether a definition that this webhook converts goes on trusting
// something else.
func (p *planner) distrusts(c install.Conversion) bool {
	live := p.Observed.CRDs[c.CRD]
	if live == nil || !converted(live, c) || p.writes(live) {
		return false
	}
	return !bytes.Equal(live.Spec.Conversion.Webhook.ClientConfig.CABundle, c.Spec.Webhook.ClientConfig.CABundle)
}

func trustsAlike(a, b Object) bool {
	return slices.EqualFunc(clientsOf(a), clientsOf(b), func(a, b admissionregistrationv1.WebhookClientConfig) bool {
		return bytes.Equal(a.CABundle, b.CABundle)
	})
}

func (p *planner) writes(o Object) bool {
	return slices.ContainsFunc(p.plan.Steps, func(s Step) bool { return s.Key() == KeyOf(o) })
}
