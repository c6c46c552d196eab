package rollout

import (
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

// brief returns the phase with a message that people can read as a whole. The WebhookRollout has
// all of it.
func (p Phase) brief(details string) Phase {
	p.Message = csvstatus.Brief(p.Message, details)
	return p
}

func (p Phase) because(cause string) Phase {
	p.Message += cause
	return p
}
