package phase

import operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

// Transitions returns all phases that follow, because users and scripts expect the sequence.
func Transitions(from Phase, f Facts) []Phase {
	var transitions []Phase
	for {
		to := next(from, f).brief(f.Details)
		if to == from {
			return transitions
		}
		transitions = append(transitions, to)
		from = to
		f.Reinstall = false
	}
}

func next(from Phase, f Facts) Phase {
	if f.ReplacedBy != "" {
		if to, replaced := replacing(from, f); replaced {
			return to
		}
	}
	if to, held := blocked(from, f); held {
		return to
	}
	switch from.Phase {
	case operatorsv1alpha1.CSVPhasePending:
		return Ready
	case operatorsv1alpha1.CSVPhaseInstallReady:
		return Installing
	case operatorsv1alpha1.CSVPhaseInstalling:
		return afterInstalling(f)
	case operatorsv1alpha1.CSVPhaseSucceeded:
		return afterSucceeded(from, f)
	default:
		return afterFailed(from, f)
	}
}

func blocked(from Phase, f Facts) (to Phase, held bool) {
	switch {
	case f.Failure != nil:
		return *f.Failure, true
	case from.Phase == "" || isTerminal(from) || IsReplaced(from.Phase):
		return Pending, true
	case f.NotUpgradeable != "":
		return NotUpgradeable.Because(f.NotUpgradeable), true
	case f.Unmet != "" && from.Phase == operatorsv1alpha1.CSVPhaseSucceeded:
		return Lost, true
	case f.Unmet != "":
		return Unmet.Because(": " + f.Unmet), true
	case f.NotReady != "":
		return Pending.Because(": " + f.NotReady), true
	default:
		return from, false
	}
}

func replacing(from Phase, f Facts) (to Phase, replaced bool) {
	switch {
	case IsReplaced(from.Phase):
		return from, true
	case from.Phase == operatorsv1alpha1.CSVPhaseSucceeded:
		return Replacing.Because(f.ReplacedBy), true
	case from.Phase == operatorsv1alpha1.CSVPhaseFailed && f.FailForward:
		return FailingForward.Because(f.ReplacedBy), true
	default:
		return from, false
	}
}

// IsReplaced reports whether a newer version replaces this one. Its deletion restarts the installation.
func IsReplaced(p operatorsv1alpha1.ClusterServiceVersionPhase) bool {
	return p == operatorsv1alpha1.CSVPhaseReplacing || p == operatorsv1alpha1.CSVPhaseDeleting
}

// Only a change of the ClusterServiceVersion, its OperatorGroup, or another operator ends the failure.
func isTerminal(p Phase) bool {
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

func afterInstalling(f Facts) Phase {
	switch {
	case f.Refused != "":
		return Refused.Because(f.Refused)
	case f.TimedOut != "":
		return Timeout.Because(": waiting for " + f.TimedOut)
	case f.UnavailableAPIService != "":
		return Unavailable.Because(f.UnavailableAPIService)
	case f.Incomplete != "":
		return Waiting.Because(f.Incomplete)
	default:
		return Succeeded
	}
}

func afterSucceeded(from Phase, f Facts) Phase {
	switch {
	case f.Reinstall:
		return Reinstall
	case f.Refused != "":
		return Refused.Because(f.Refused)
	case f.Unhealthy != "":
		return Unhealthy.Because(f.Unhealthy)
	default:
		return from
	}
}

func afterFailed(from Phase, f Facts) Phase {
	switch {
	case f.Reinstall:
		return Reinstall
	case f.Refused != "":
		return Refused.Because(f.Refused)
	case f.Unhealthy != "" && from.Reason == operatorsv1alpha1.CSVReasonComponentUnhealthy:
		return Unhealthy.Because(f.Unhealthy)
	case f.Incomplete != "" && from.Reason == operatorsv1alpha1.CSVReasonInstallCheckFailed:
		return from
	default:
		return Reinstall
	}
}

// AfterReplacement returns the next phase of a version whose webhooks belong to a newer one.
func AfterReplacement(from operatorsv1alpha1.ClusterServiceVersionPhase, newer string, mayGo bool) *Phase {
	switch {
	case from == operatorsv1alpha1.CSVPhaseDeleting:
		return nil
	case mayGo:
		return &Replaced
	case from != operatorsv1alpha1.CSVPhaseReplacing:
		return new(Replacing.Because(newer))
	default:
		return nil
	}
}

// Facts determine the next phase of a ClusterServiceVersion. The texts are empty if they do not apply.
type Facts struct {
	Details               string // the command that shows all messages in full; empty without one
	Failure               *Phase // no scope, an invalid ClusterServiceVersion, or a conflict; see isTerminal
	Unmet                 string // requirements that are not met
	Refused               string // what the API server refuses
	Incomplete            string // what is not complete yet: "deployment D to become ready: …"
	TimedOut              string // what is not complete after the timeout
	AwaitedVersions       string // versions of definitions that must be added
	UnavailableAPIService string // an owned APIService, and why it is not available
	Unhealthy             string // what failed after it was complete
	Reinstall             bool   // a Deployment that exists is being changed

	NotUpgradeable string // the operator's message that it must not be replaced
	NotReady       string // why a replaced version cannot be replaced yet
	ReplacedBy     string // the version that replaces this one
	FailForward    bool   // a failed version may be replaced
}

// Milestones returns the transitions that get an event; the conditions have all of them.
func Milestones(from operatorsv1alpha1.ConditionReason, transitions []Phase) []Phase {
	var reported []Phase
	for i, p := range transitions {
		continues := p.Reason == operatorsv1alpha1.CSVReasonRequirementsMet && from == operatorsv1alpha1.CSVReasonRequirementsNotMet
		if i == len(transitions)-1 || p.Phase == operatorsv1alpha1.CSVPhaseFailed || continues {
			reported = append(reported, p)
		}
	}
	return reported
}

// Continues reports whether an installation has just started or still waits.
func Continues(from Phase, transitions []Phase) bool {
	to := from
	if len(transitions) > 0 {
		to = transitions[len(transitions)-1]
	}
	return isWaiting(to) && (from.Phase == "" || isWaiting(from))
}

func isWaiting(p Phase) bool {
	return p.Phase == operatorsv1alpha1.CSVPhaseInstalling &&
		(p.Reason == operatorsv1alpha1.CSVReasonWaiting || p.Reason == operatorsv1alpha1.CSVReasonInstallSuccessful)
}
