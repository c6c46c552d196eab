package rollout

import (
	"slices"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/conversion"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/registration"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
)

// KeepsTrust tells whether nothing but certificates is to be looked after: of webhooks in
// service whose ClusterServiceVersion has no scope or mistakes, and of conversions that
// hold one up on its way out. What they call stays as it is, and certificates end.
func (in Input) KeepsTrust() bool {
	held := in.Failure != nil || in.Verdict.Mistakes() != ""
	yields := in.Failure != nil && scope.Yields(in.Failure.Reason) || in.Verdict.Conflict != ""
	return in.Leaving || held && !yields && !in.Upgrade.Waits() && in.InService()
}

// keepTrust gives pods another certificate, and registrations the trust in it.
func (p *planner) keepTrust() {
	p.tell(p.Issuance...)
	for _, d := range slices.Concat(p.Desired.Deployments, p.Maintained) {
		inService := slices.DeleteFunc(slices.Clone(d.Webhooks), func(w render.Webhook) bool { return p.liveOf(w) == nil || p.elsewhere(d, w) })
		live := p.Observed.Deployments[d.Object.Name]
		if len(inService) == 0 || live == nil || p.Verdict.ClaimedDeployments[d.Object.Name] != "" {
			continue
		}
		p.writeSecret(d.Object.Name)
		p.restart(d.Object, live)
		for _, w := range inService {
			if len(w.Conversions) > 0 {
				p.wantConversions(p.asRouted(p.convertedAlready(w)))
			} else if !w.Delegated {
				p.trust(registration.Of(w), p.liveOf(w))
			}
		}
	}
	for _, pod := range p.Nudges {
		p.take(Step{Verb: Nudge, Object: pod, Live: pod})
	}
}

func (p *planner) convertedAlready(w render.Webhook) []render.Conversion {
	return slices.DeleteFunc(slices.Clone(w.Conversions), func(c render.Conversion) bool {
		live := p.Observed.CRDs[c.CRD]
		return live == nil || !conversion.Calls(live, c)
	})
}

// leave is a ClusterServiceVersion on its way out that cannot go yet: it says what it said,
// but for its certificates. Where nothing is left that said it, it is said anew.
func (p *planner) leave() {
	p.keepTrust()
	p.plan.Status = *p.Previous.DeepCopy()
	if len(p.plan.Status.Deployments) == 0 {
		p.holdFor("objects need the conversion")
		limit := p.messageLimit()
		for _, d := range p.deployments {
			p.plan.Status.Deployments = append(p.plan.Status.Deployments, p.reportDeployment(d, limit))
		}
	}
	for i, d := range p.plan.Status.Deployments {
		if certificate, ok := p.Certificates[d.Name]; ok {
			p.plan.Status.Deployments[i].Certificate = &certificate
		}
	}
}
