// Package phase decides which phase of a ClusterServiceVersion follows from facts about its installation.
// Phases, reasons and messages are OLM v0's.
package phase

import (
	"strings"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/csvstatus"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// Phase is a phase of a ClusterServiceVersion with its reason and message.
type Phase struct {
	Phase   operatorsv1alpha1.ClusterServiceVersionPhase
	Reason  operatorsv1alpha1.ConditionReason
	Message string
}

// The words of OLM v0. The cause completes a message that ends with a colon (see csvstatus.Words).
var (
	Pending = Phase{operatorsv1alpha1.CSVPhasePending, operatorsv1alpha1.CSVReasonRequirementsUnknown,
		"requirements not yet checked"}
	Unmet = Phase{operatorsv1alpha1.CSVPhasePending, operatorsv1alpha1.CSVReasonRequirementsNotMet,
		"one or more requirements couldn't be found"}
	Lost = Phase{operatorsv1alpha1.CSVPhaseFailed, operatorsv1alpha1.CSVReasonRequirementsNotMet,
		"requirements no longer met"}
	Reinstall = Phase{operatorsv1alpha1.CSVPhasePending, operatorsv1alpha1.CSVReasonNeedsReinstall,
		"calculated deployment install is bad"}
	Ready = Phase{operatorsv1alpha1.CSVPhaseInstallReady, operatorsv1alpha1.CSVReasonRequirementsMet,
		"all requirements found, attempting install"}
	Installing = Phase{operatorsv1alpha1.CSVPhaseInstalling, operatorsv1alpha1.CSVReasonInstallSuccessful,
		"waiting for install components to report healthy"}
	Waiting = Phase{operatorsv1alpha1.CSVPhaseInstalling, operatorsv1alpha1.CSVReasonWaiting,
		"installing: waiting for "}
	Unavailable = Phase{operatorsv1alpha1.CSVPhaseInstalling, operatorsv1alpha1.CSVReasonWaiting,
		"apiServices not installed: "}
	Succeeded = Phase{operatorsv1alpha1.CSVPhaseSucceeded, operatorsv1alpha1.CSVReasonInstallSuccessful,
		"install strategy completed with no errors"}
	Invalid = Phase{operatorsv1alpha1.CSVPhaseFailed, operatorsv1alpha1.CSVReasonInvalidWebhookDescription,
		""}
	Conflict = Phase{operatorsv1alpha1.CSVPhaseFailed, operatorsv1alpha1.CSVReasonOwnerConflict,
		""}
	Refused = Phase{operatorsv1alpha1.CSVPhaseFailed, operatorsv1alpha1.CSVReasonComponentFailed,
		"install strategy failed: "}
	Timeout = Phase{operatorsv1alpha1.CSVPhaseFailed, operatorsv1alpha1.CSVReasonInstallCheckFailed,
		"install timeout"}
	Unhealthy = Phase{operatorsv1alpha1.CSVPhaseFailed, operatorsv1alpha1.CSVReasonComponentUnhealthy,
		""}
	NotUpgradeable = Phase{operatorsv1alpha1.CSVPhasePending, operatorsv1alpha1.CSVReasonOperatorConditionNotUpgradeable,
		"operator is not upgradeable: "}
	Replacing = Phase{operatorsv1alpha1.CSVPhaseReplacing, operatorsv1alpha1.CSVReasonBeingReplaced,
		"being replaced by csv: "}
	FailingForward = Phase{operatorsv1alpha1.CSVPhaseReplacing, operatorsv1alpha1.CSVReasonBeingReplaced,
		"Fail Forward is enabled, allowing Failed csv to be replaced by csv: "}
	Replaced = Phase{operatorsv1alpha1.CSVPhaseDeleting, operatorsv1alpha1.CSVReasonReplaced,
		"has been replaced by a newer ClusterServiceVersion that has successfully installed."}
)

// Of returns the phase of a status. A cause that is in no condition is reported again.
func Of(status operatorsv1alpha1.ClusterServiceVersionStatus) Phase {
	explained := csvstatus.Explained(status)
	if explained == status.Message {
		explained = csvstatus.Words(explained)
	}
	return Phase{status.Phase, status.Reason, explained}
}

// brief shortens the message. The WebhookRollout has all of it.
func (p Phase) brief(details string) Phase {
	p.Message = csvstatus.Brief(p.Message, details)
	return p
}

// Because returns the phase with the cause in its message.
func (p Phase) Because(cause string) Phase {
	p.Message += cause
	return p
}

// DeletionBlocked returns a new phase while a deletion waits. details is the command that shows more, or empty.
func DeletionBlocked(status operatorsv1alpha1.ClusterServiceVersionStatus, reason operatorsv1alpha1.ConditionReason, why, details string) []Phase {
	held := Phase{operatorsv1alpha1.CSVPhaseDeleting, reason, why}.brief(details)
	if Of(status) == held {
		return nil
	}
	return []Phase{held}
}

// DeletionWaits returns a new phase while a deletion waits for API servers.
func DeletionWaits(status operatorsv1alpha1.ClusterServiceVersionStatus, apiServers []string) []Phase {
	return DeletionBlocked(status, managerv1alpha1.ReasonUnregistering,
		"these API servers still call the webhooks, and the pods stay until they do not, for at most a minute: "+strings.Join(apiServers, ", "), "")
}

// NamespaceDeleted adds that the Namespace is being deleted. The only remedy comes first.
func NamespaceDeleted(inUse string) string {
	return "its Namespace is being deleted, and with it the pods that convert: only the annotation " + wellknown.AnnotationForceConversion + "=true on the ClusterServiceVersion permits the deletion; " + inUse +
		". Nothing can be migrated any more: requests in another version than an object is stored in fail, and lose nothing. Once the annotation is set they drop fields, until the operator is installed in another Namespace"
}
