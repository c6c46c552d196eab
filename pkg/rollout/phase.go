package rollout

import (
	"fmt"
	"time"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/csvstatus"
)

// Phase is one transition of a ClusterServiceVersion.
type Phase struct {
	Phase   operatorsv1alpha1.ClusterServiceVersionPhase
	Reason  operatorsv1alpha1.ConditionReason
	Message string
}

// The phases, with OLM v0's reasons and messages. Where a message goes on after
// these words, the rest names the cause (see csvstatus.Words).
var (
	phaseUnknown = Phase{operatorsv1alpha1.CSVPhasePending, operatorsv1alpha1.CSVReasonRequirementsUnknown,
		"requirements not yet checked"}
	phaseUnmet = Phase{operatorsv1alpha1.CSVPhasePending, operatorsv1alpha1.CSVReasonRequirementsNotMet,
		"one or more requirements couldn't be found"}
	phaseLost = Phase{operatorsv1alpha1.CSVPhaseFailed, operatorsv1alpha1.CSVReasonRequirementsNotMet,
		"requirements no longer met"}
	phaseReinstall = Phase{operatorsv1alpha1.CSVPhasePending, operatorsv1alpha1.CSVReasonNeedsReinstall,
		"calculated deployment install is bad"}
	phaseReady = Phase{operatorsv1alpha1.CSVPhaseInstallReady, operatorsv1alpha1.CSVReasonRequirementsMet,
		"all requirements found, attempting install"}
	phaseInstalling = Phase{operatorsv1alpha1.CSVPhaseInstalling, operatorsv1alpha1.CSVReasonInstallSuccessful,
		"waiting for install components to report healthy"}
	phaseWaiting = Phase{operatorsv1alpha1.CSVPhaseInstalling, operatorsv1alpha1.CSVReasonWaiting,
		"installing: waiting for "}
	phaseUnavailable = Phase{operatorsv1alpha1.CSVPhaseInstalling, operatorsv1alpha1.CSVReasonWaiting,
		"apiServices not installed: "}
	phaseSucceeded = Phase{operatorsv1alpha1.CSVPhaseSucceeded, operatorsv1alpha1.CSVReasonInstallSuccessful,
		"install strategy completed with no errors"}
	phaseInvalid = Phase{operatorsv1alpha1.CSVPhaseFailed, operatorsv1alpha1.CSVReasonInvalidWebhookDescription,
		""}
	phaseConflict = Phase{operatorsv1alpha1.CSVPhaseFailed, operatorsv1alpha1.CSVReasonOwnerConflict,
		""}
	phaseRefused = Phase{operatorsv1alpha1.CSVPhaseFailed, operatorsv1alpha1.CSVReasonComponentFailed,
		"install strategy failed: "}
	phaseTimeout = Phase{operatorsv1alpha1.CSVPhaseFailed, operatorsv1alpha1.CSVReasonInstallCheckFailed,
		"install timeout"}
	phaseUnhealthy = Phase{operatorsv1alpha1.CSVPhaseFailed, operatorsv1alpha1.CSVReasonComponentUnhealthy,
		""}
	phaseNotUpgradeable = Phase{operatorsv1alpha1.CSVPhasePending, operatorsv1alpha1.CSVReasonOperatorConditionNotUpgradeable,
		"operator is not upgradeable: "}
	phaseReplacing = Phase{operatorsv1alpha1.CSVPhaseReplacing, operatorsv1alpha1.CSVReasonBeingReplaced,
		"being replaced by csv: "}
	phaseFailingForward = Phase{operatorsv1alpha1.CSVPhaseReplacing, operatorsv1alpha1.CSVReasonBeingReplaced,
		"Fail Forward is enabled, allowing Failed csv to be replaced by csv: "}
	phaseReplaced = Phase{operatorsv1alpha1.CSVPhaseDeleting, operatorsv1alpha1.CSVReasonReplaced,
		"has been replaced by a newer ClusterServiceVersion that has successfully installed."}
)

// phaseOf is the phase that a ClusterServiceVersion is in. A cause that stands in its
// message, and not in a condition, is told anew.
func phaseOf(status operatorsv1alpha1.ClusterServiceVersionStatus) Phase {
	explained := csvstatus.Explained(status)
	if explained == status.Message {
		explained = csvstatus.Words(explained)
	}
	return Phase{status.Phase, status.Reason, explained}
}

func (p Phase) because(cause string) Phase {
	p.Message += cause
	return p
}

// facts are what the phase of a ClusterServiceVersion depends on, besides the phase
// that it is in. The texts are empty where they do not apply.
type facts struct {
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

// transitions walks from the phase that the ClusterServiceVersion is in as far as
// the facts carry. Each step is recorded: people and scripts know the sequence.
func transitions(from Phase, f facts) []Phase {
	var walked []Phase
	for {
		to := next(from, f)
		if to == from {
			return walked
		}
		walked = append(walked, to)
		from = to
		f.reinstall = false
	}
}

// next is the phase after the given one.
func next(from Phase, f facts) Phase {
	if f.replacedBy != "" {
		if to, replaced := replacing(from, f); replaced {
			return to
		}
	}
	if to, held := holding(from, f); held {
		return to
	}
	switch from.Phase {
	case operatorsv1alpha1.CSVPhasePending:
		return phaseReady
	case operatorsv1alpha1.CSVPhaseInstallReady:
		return phaseInstalling
	case operatorsv1alpha1.CSVPhaseInstalling:
		return afterInstalling(f)
	case operatorsv1alpha1.CSVPhaseSucceeded:
		return afterSucceeded(from, f)
	default:
		return afterFailed(from, f)
	}
}

// holding is the phase of a version that may not be installed, or not yet.
func holding(from Phase, f facts) (to Phase, held bool) {
	switch {
	case f.failure != nil:
		return *f.failure, true
	case from.Phase == "" || isStable(from) || isBeingReplaced(from):
		return phaseUnknown, true
	case f.notUpgradeable != "":
		return phaseNotUpgradeable.because(f.notUpgradeable), true
	case f.unmet != "" && from.Phase == operatorsv1alpha1.CSVPhaseSucceeded:
		return phaseLost, true
	case f.unmet != "":
		return phaseUnmet.because(": " + f.unmet), true
	case f.notReady != "":
		return phaseUnknown.because(": " + f.notReady), true
	default:
		return from, false
	}
}

// replacing is the phase of a version that a newer one may replace.
func replacing(from Phase, f facts) (to Phase, replaced bool) {
	switch {
	case isBeingReplaced(from):
		return from, true
	case from.Phase == operatorsv1alpha1.CSVPhaseSucceeded:
		return phaseReplacing.because(f.replacedBy), true
	case from.Phase == operatorsv1alpha1.CSVPhaseFailed && f.failForward:
		return phaseFailingForward.because(f.replacedBy), true
	default:
		return from, false
	}
}

// isBeingReplaced tells the phases of a version that a newer one replaces. When that one
// goes, the installation begins anew.
func isBeingReplaced(p Phase) bool {
	return p.Phase == operatorsv1alpha1.CSVPhaseReplacing || p.Phase == operatorsv1alpha1.CSVPhaseDeleting
}

// isStable tells the failures that only a change of the ClusterServiceVersion or
// of its OperatorGroup ends.
func isStable(p Phase) bool {
	if p.Phase != operatorsv1alpha1.CSVPhaseFailed {
		return false
	}
	switch p.Reason {
	case operatorsv1alpha1.CSVReasonRequirementsNotMet, operatorsv1alpha1.CSVReasonInstallCheckFailed, operatorsv1alpha1.CSVReasonComponentUnhealthy, operatorsv1alpha1.CSVReasonComponentFailed:
		return false
	default:
		return true
	}
}

func afterInstalling(f facts) Phase {
	switch {
	case f.refused != "":
		return phaseRefused.because(f.refused)
	case f.timedOut != "":
		return phaseTimeout.because(": waiting for " + f.timedOut)
	case f.lacks != "":
		return phaseUnavailable.because(f.lacks)
	case f.waits != "":
		return phaseWaiting.because(f.waits)
	default:
		return phaseSucceeded
	}
}

func afterSucceeded(from Phase, f facts) Phase {
	switch {
	case f.reinstall:
		return phaseReinstall
	case f.refused != "":
		return phaseRefused.because(f.refused)
	case f.unhealthy != "":
		return phaseUnhealthy.because(f.unhealthy)
	default:
		return from
	}
}

func afterFailed(from Phase, f facts) Phase {
	switch {
	case f.reinstall:
		return phaseReinstall
	case f.refused != "":
		return phaseRefused.because(f.refused)
	case f.unhealthy != "" && from.Reason == operatorsv1alpha1.CSVReasonComponentUnhealthy:
		return phaseUnhealthy.because(f.unhealthy)
	case f.waits != "" && from.Reason == operatorsv1alpha1.CSVReasonInstallCheckFailed:
		return from
	default:
		return phaseReinstall
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

// facts gathers what the decision came to.
func (p *planner) facts() facts {
	f := facts{unmet: p.Verdict.Unmet(), reinstall: p.reinstall || p.extended()}
	p.upgradeFacts(&f)
	switch {
	case p.Failure != nil:
		f.failure = &Phase{operatorsv1alpha1.CSVPhaseFailed, p.Failure.Reason, p.Failure.Message}
	case p.Verdict.Mistakes() != "":
		invalid := phaseInvalid.because(p.Verdict.Mistakes())
		f.failure = &invalid
	case p.Verdict.Conflict != "" && f.unmet == "":
		conflict := phaseConflict.because(p.Verdict.Conflict)
		f.failure = &conflict
	}
	for _, d := range p.deployments {
		waits := d.waits(p)
		if waits == "" {
			continue
		}
		first(&f.waits, waits)
		if refusal := d.refusal(); refusal != "" {
			first(&f.refused, refusal)
		}
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
	p.awaitVersions(&f)
	return f
}

// deadline is when a Deployment and its webhooks have taken too long to install. The
// time begins with the installation: a Deployment may be older. It is zero while
// nothing is being installed.
func (p *planner) deadline(d deploymentView) time.Time {
	if p.CSV.Status.Phase != operatorsv1alpha1.CSVPhaseInstalling || d.progress.since.IsZero() {
		return time.Time{}
	}
	since := d.progress.since
	if began := p.CSV.Status.LastTransitionTime; began != nil {
		since = later(since, began.Time)
	}
	for _, w := range d.webhooks {
		since = later(since, w.registered)
	}
	return since.Add(p.Policy.InstallTimeout)
}

// waits is what a Deployment and its webhooks lack to be complete.
func (v deploymentView) waits(p *planner) string {
	if !v.progress.complete() {
		return fmt.Sprintf("deployment %s to become ready: %s", v.name, v.progress.message)
	}
	for _, w := range v.webhooks {
		if w.lacks() {
			return fmt.Sprintf("%s to be registered: %s", w.title(), w.message)
		}
		if w.moving != "" {
			return fmt.Sprintf("%s to be switched: %s", w.title(), w.moving)
		}
	}
	return v.settling(p)
}

// settling is which registration is so young that some API server may not know it yet.
func (v deploymentView) settling(p *planner) string {
	if p.Policy.Gate == GateAvailable {
		return ""
	}
	for _, w := range v.webhooks {
		if settled := w.registered.Add(p.Policy.Settle); p.now.Before(settled) {
			p.lookAgain(settled)
			return fmt.Sprintf("%s to be known to every API server", w.title())
		}
	}
	return ""
}

func (v deploymentView) refusal() string {
	if v.progress.reason == reasonRefused {
		return v.progress.message
	}
	for _, w := range v.webhooks {
		if w.reason == reasonRefused {
			return w.message
		}
	}
	return ""
}

// first keeps the first text that is not empty.
func first(kept *string, text string) {
	if *kept == "" {
		*kept = text
	}
}
