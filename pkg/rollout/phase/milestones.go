package phase

import (
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
)

// Milestones are those of some phases gone through at once that people are told of: where
// the way ended, failures on it, and that it went on after people had been told what it
// waits for. The conditions of the ClusterServiceVersion have all.
func Milestones(from operatorsv1alpha1.ConditionReason, walked []Phase) []Phase {
	var told []Phase
	for i, p := range walked {
		goesOn := p.Reason == operatorsv1alpha1.CSVReasonRequirementsMet && from == operatorsv1alpha1.CSVReasonRequirementsNotMet
		if i == len(walked)-1 || p.Phase == operatorsv1alpha1.CSVPhaseFailed || goesOn {
			told = append(told, p)
		}
	}
	return told
}

// Continues tells whether an installation goes on: it has just begun, or waited, and waits.
func Continues(from Phase, walked []Phase) bool {
	to := from
	if len(walked) > 0 {
		to = walked[len(walked)-1]
	}
	return isWaiting(to) && (from.Phase == "" || isWaiting(from))
}

func isWaiting(p Phase) bool {
	return p.Phase == operatorsv1alpha1.CSVPhaseInstalling &&
		(p.Reason == operatorsv1alpha1.CSVReasonWaiting || p.Reason == operatorsv1alpha1.CSVReasonInstallSuccessful)
}
