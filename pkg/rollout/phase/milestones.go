package phase

import (
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
)

// Milestones are those of some phases gone through at once that people are told of: where
// the way ended, failures on it, and that it went on after people had been told what it
// waits for. The conditions of the ClusterServiceVersion have all.
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

// Continues tells whether an installation goes on: it has just begun, or waited, and waits.
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
