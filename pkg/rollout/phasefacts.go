package rollout

import (
	"fmt"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install"
)

// facts are what the phase of a ClusterServiceVersion depends on, besides the phase
// that it is in. The texts are empty where they do not apply.
type facts struct {
	details   string // a command that shows every message as a whole; empty if there is none
	failure   *Phase // a stable failure: no scope, or a mistake in the ClusterServiceVersion
	unmet     string // requirements that are not met
	refused   string // what the API server does not accept
	waits     string // what is not complete yet: "deployment D to become ready: …"
	timedOut  string // what has not been complete for longer than the timeout
	awaits    string // which versions whoever installs it has yet to serve
	lacks     string // which owned APIService is not available, and why
	unhealthy string // what broke after it was complete
	reinstall bool   // a Deployment that exists is being changed

	notUpgradeable string // what the operator says that does not want to be replaced
	notReady       string // why a replaced version cannot be replaced yet
	replacedBy     string // the version that replaces this one
	failForward    bool   // a failed version may be replaced
}

// facts gathers what the decision came to.
func (p *planner) facts() facts {
	f := facts{unmet: p.Verdict.Unmet(), reinstall: p.reinstall || p.extended(), details: p.details()}
	p.upgradeFacts(&f)
	f.failure = p.failure(f.unmet)
	for _, d := range p.deployments {
		p.deploymentFacts(d, &f)
	}
	p.awaitVersions(&f)
	return f
}

// details is the command that shows the WebhookRollout, if there is one.
func (p *planner) details() string {
	if !install.Declares(p.CSV) && len(p.Previous.Conditions) == 0 {
		return ""
	}
	return DetailsOf(p.CSV)
}

// DetailsOf is the command that shows the WebhookRollout of a ClusterServiceVersion.
func DetailsOf(csv *operatorsv1alpha1.ClusterServiceVersion) string {
	return fmt.Sprintf("kubectl -n %s describe webhookrollouts %s", csv.Namespace, csv.Name)
}

// failure is what only a change of the ClusterServiceVersion or of its surroundings ends.
func (p *planner) failure(unmet string) *Phase {
	switch {
	case p.Failure != nil:
		return &Phase{operatorsv1alpha1.CSVPhaseFailed, p.Failure.Reason, p.Failure.Message}
	case p.Verdict.Mistakes() != "":
		return new(phaseInvalid.because(p.Verdict.Mistakes()))
	case p.Verdict.Conflict != "" && unmet == "":
		return new(phaseConflict.because(p.Verdict.Conflict))
	default:
		return nil
	}
}

// deploymentFacts adds what a Deployment lacks. Of several the first one counts.
func (p *planner) deploymentFacts(d deploymentView, f *facts) {
	waits := d.waits(p)
	if waits == "" {
		return
	}
	first(&f.waits, waits)
	first(&f.refused, d.refusal())
	if deadline := p.deadline(d); deadline.After(p.now) {
		p.lookAgain(deadline)
	} else if !deadline.IsZero() {
		first(&f.timedOut, waits)
	}
	lacks := d.unavailable()
	first(&f.lacks, lacks)
	switch {
	case lacks != "" && (!d.progress.available || d.progress.complete()):
		first(&f.unhealthy, phaseUnavailable.because(lacks).Message)
	case !d.progress.available:
		first(&f.unhealthy, d.progress.message)
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
