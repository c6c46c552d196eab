package rollout

import (
	"slices"
	"time"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/webhookconfig"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/backends"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/failopen"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/phase"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/registration"
)

// Plan is what to do now, and what to report.
type Plan struct {
	// Steps are the writes. A step may depend on previous ones.
	Steps []Step
	// Probes are the endpoints to dial for the next decision.
	Probes []backends.Endpoint
	// Count are the CustomResourceDefinitions whose objects must be counted for the next decision.
	Count []string
	// Confirm are the Services whose EndpointSlices must be read from the API server for the next decision.
	Confirm []string
	// AskAPIServers requests Input.HaveObserved for the next decision.
	AskAPIServers bool
	// AskBeginnings are the kinds of configurations of which API servers are asked what they have observed, without waiting for the answer.
	AskBeginnings webhookconfig.Kinds
	// FailOpen are the decisions about openings of webhooks; nil if there were none.
	FailOpen map[csvspec.Identity]failopen.Decision
	Status   managerv1alpha1.WebhookRolloutStatus
	Phases   []phase.Phase
	// Requeue is when the plan may change although nothing else changes.
	Requeue Requeue
}

// Next returns the plan for one ClusterServiceVersion. Without a scope, if invalid, or with unmet requirements, it starts
// nothing new, and renews the certificates of what is live. While only a requirement is not met, webhooks in
// service and their Services, Roles and bindings are also repaired, and deleted Deployments. Only an operator
// that must yield to another one is withdrawn.
func Next(in Input, now time.Time) Plan {
	p := newPlanner(in, now)
	report := reporter{facts: p.facts, plan: p.plan, outcome: p.outcome}
	if in.DeletionBlocked {
		p.opener.decide(false)
		p.maintainer.keepTrust()
		p.opener.closeFirst()
		p.limitEvictions(false)
		if len(in.Previous.Deployments) == 0 {
			p.blockBecause("the ClusterServiceVersion is being deleted")
		}
		report.reportDeletionBlocked()
		return p.plan.Plan
	}
	p.remover.unregisterReserved()
	switch {
	case p.yields():
		p.opener.decide(false)
		p.remover.withdraw()
		if len(p.plan.stays) > 0 {
			p.maintainer.keepTrust()
		}
		p.limitEvictions(false)
		p.block()
	case in.Failure == nil && in.Verdict.Passes() && p.mayStartUpgrade():
		if p.plan.Count = in.crdsToCount(); len(p.plan.Count) > 0 {
			return p.plan.Plan
		}
		p.install()
	case in.RepairsInService():
		p.maintainer.repairInService()
		p.limitEvictions(false)
		p.block()
	case in.KeepsTrustOnly():
		p.opener.decide(false)
		p.maintainer.keepTrust()
		p.limitEvictions(false)
		p.block()
	default:
		p.opener.decide(false)
		p.limitEvictions(false)
		p.block()
	}
	p.opener.closeFirst()
	report.report()
	return p.plan.Plan
}

// Requeue is when to reconcile although nothing changes, and why. The zero value means never.
type Requeue struct {
	At     time.Time
	Reason string
}

// Never reports whether only a change causes the next reconciliation.
func (r Requeue) Never() bool { return r.At.IsZero() }

// Earliest returns the earliest of some requeues.
func (r Requeue) Earliest(others ...Requeue) Requeue {
	for _, other := range others {
		if r.Never() || !other.Never() && other.At.Before(r.At) {
			r = other
		}
	}
	return r
}

// KeepsTrustOnly is true without a scope, for an invalid version, while a deletion waits for conversions, and for a version that
// yields to another one while registrations of it cannot be deleted.
func (in Input) KeepsTrustOnly() bool {
	held := in.Failure != nil || in.Verdict.Invalid() != ""
	if in.yields() {
		held = slices.ContainsFunc(in.Observed.registrations(), func(live registration.Registration) bool { return in.Observed.staysRegistered(live.Object) })
	}
	return in.DeletionBlocked || held && !in.Upgrade.Waits() && in.InService()
}

// InService reports whether API servers call webhooks, or did until another client deleted these. Before an
// upgrade starts, the webhooks belong to the previous version.
func (in Input) InService() bool {
	if in.Upgrade.isPending() {
		return false
	}
	labelled := func(live registration.Registration) bool { return csvspec.HasOwnerLabels(live.Object, in.CSV) }
	return slices.ContainsFunc(in.Observed.registrations(), labelled) ||
		anyWebhook(in.Previous, func(w managerv1alpha1.WebhookStatus) bool { return isRegistered(w) || w.Configuration != "" })
}

// RepairsInService reports whether webhooks are maintained although a requirement is not met.
func (in Input) RepairsInService() bool {
	return in.Failure == nil && in.Verdict.Invalid() == "" && in.Verdict.Conflict == "" && in.Verdict.Unmet() != "" &&
		!in.Upgrade.Waits() && in.InService()
}
