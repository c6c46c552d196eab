package rollout

import (
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
)

// transitions walks from the phase that the ClusterServiceVersion is in as far as
// the facts carry. Each step is recorded: people and scripts know the sequence.
func transitions(from Phase, f facts) []Phase {
	var walked []Phase
	for {
		to := next(from, f).brief(f.details)
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
