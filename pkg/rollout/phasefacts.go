package rollout

import (
	"fmt"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/phase"
)

// facts gathers what the decision came to.
func (p *planner) facts() phase.Facts {
	f := phase.Facts{Unmet: p.Verdict.Unmet(), Reinstall: p.reinstall || p.extended(), Details: p.details()}
	p.upgradeFacts(&f)
	f.Failure = p.failure(f.Unmet)
	for _, d := range p.deployments {
		p.deploymentFacts(d, &f)
	}
	p.awaitVersions(&f)
	return f
}

// details is the command that shows the WebhookRollout, if there is one.
func (p *planner) details() string {
	if !csvspec.HasRegistrations(p.CSV) && len(p.Previous.Conditions) == 0 {
		return ""
	}
	return DetailsOf(p.CSV)
}

// DetailsOf is the command that shows the WebhookRollout of a ClusterServiceVersion.
func DetailsOf(csv *operatorsv1alpha1.ClusterServiceVersion) string {
	return fmt.Sprintf("kubectl -n %s describe webhookrollouts %s", csv.Namespace, csv.Name)
}

// failure is what only a change of the ClusterServiceVersion or of its surroundings ends.
func (p *planner) failure(unmet string) *phase.Phase {
	switch {
	case p.Failure != nil:
		return &phase.Phase{Phase: operatorsv1alpha1.CSVPhaseFailed, Reason: p.Failure.Reason, Message: p.Failure.Message}
	case p.Verdict.Mistakes() != "":
		return new(phase.Invalid.Because(p.Verdict.Mistakes()))
	case p.Verdict.Conflict != "" && unmet == "":
		return new(phase.Conflict.Because(p.Verdict.Conflict))
	default:
		return nil
	}
}

// deploymentFacts adds what a Deployment lacks. Of several the first one counts.
func (p *planner) deploymentFacts(d deploymentView, f *phase.Facts) {
	waits := d.waits(p)
	if waits == "" {
		return
	}
	first(&f.Waits, waits)
	first(&f.Refused, d.refusal())
	if deadline := p.deadline(d); deadline.After(p.now) {
		p.lookAgain(deadline)
	} else if !deadline.IsZero() {
		first(&f.TimedOut, waits)
	}
	lacks := d.unavailable()
	first(&f.Lacks, lacks)
	switch {
	case lacks != "" && (!d.progress.Available || d.progress.Complete()):
		first(&f.Unhealthy, phase.Unavailable.Because(lacks).Message)
	case !d.progress.Available:
		first(&f.Unhealthy, d.progress.Message)
	}
}

// extended tells whether a ClusterServiceVersion that has succeeded declares a
// webhook that was never registered: it has not succeeded with that one.
func (p *planner) extended() bool {
	if p.CSV.Status.Phase != operatorsv1alpha1.CSVPhaseSucceeded {
		return false
	}
	for _, d := range p.deployments {
		for _, w := range d.webhooks {
			if w.lacks() && !p.wasRegistered(w.Webhook) {
				return true
			}
		}
	}
	return false
}

// first keeps the first text that is not empty.
func first(kept *string, text string) {
	if *kept == "" {
		*kept = text
	}
}
