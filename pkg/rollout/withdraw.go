package rollout

import (
	"maps"
	"slices"
	"time"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/conversion"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
)

// mustYield tells whether somebody else has the better right to what the
// ClusterServiceVersion provides: two of them must not run.
func (p *planner) mustYield() bool {
	return p.Failure != nil && scope.Yields(p.Failure.Reason) || p.Verdict.Conflict != ""
}

// withdraw stops an operator that must not run. Webhooks come first: without their
// Deployments they would refuse what they intercept. Where objects depend on a
// conversion, what converts them stays.
func (p *planner) withdraw() {
	registered := false
	for _, live := range p.Observed.registrations() {
		if csvspec.HasOwnerLabels(live.Object, p.CSV) {
			registered = true
			p.take(Step{Verb: Delete, Object: live.Object, Live: live.Object})
		}
	}
	ended := conversion.EndAll(p.CSV.Namespace, p.ownServices(), slices.Collect(maps.Values(p.Observed.CRDs)), p.Observed.Objects,
		p.CSV.Annotations[wellknown.AnnotationForceConversion] == "true")
	for _, step := range StepsToEnd(ended.CRDs) {
		p.take(step)
	}
	p.plan.Count, p.inUse = ended.Count, ended.InUse
	if registered || len(ended.CRDs)+len(ended.Count) > 0 || ended.InUse != "" || !p.forgotten() {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(p.Observed.Deployments)) {
		if d := p.Observed.Deployments[name]; csvspec.OwnedBy(d, p.CSV) {
			p.take(Step{Verb: Delete, Object: d, Live: d})
		}
	}
	for _, live := range p.Observed.delegations() {
		if csvspec.HasOwnerLabels(live, p.CSV) {
			p.take(Step{Verb: Delete, Object: live, Live: live})
		}
	}
}

// ownServices are those that no older version has in hand.
func (p *planner) ownServices() map[string]bool {
	services := map[string]bool{}
	for name, s := range p.Observed.Services {
		services[name] = csvspec.HasOwnerLabels(s, p.CSV)
	}
	return services
}

// forgotten tells whether no API server calls a webhook any more. When each of them was
// taken out of service stands in the status, in whole seconds, hence the one more.
func (p *planner) forgotten() bool {
	if p.Policy.Gate == GateAvailable {
		return true
	}
	settle := p.Policy.Settle + time.Second
	for _, d := range p.CSV.Spec.WebhookDefinitions {
		settled := p.now
		switch before := p.before(d); {
		case before != nil && isRegistered(*before):
			settled = p.now.Add(settle)
		case before != nil && before.State == managerv1alpha1.WebhookBlocked && before.Since != nil:
			settled = before.Since.Add(settle)
		}
		if p.now.Before(settled) {
			p.lookAgain(settled)
			return false
		}
	}
	return true
}
