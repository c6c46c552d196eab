package phase

import (
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
)

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
