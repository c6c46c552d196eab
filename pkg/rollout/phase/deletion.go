package phase

import (
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// DeletionBlocked returns the phase while a deletion waits; none if the status has it already. details is the
// command that shows the WebhookRollout; empty without one.
func DeletionBlocked(status operatorsv1alpha1.ClusterServiceVersionStatus, reason operatorsv1alpha1.ConditionReason, why, details string) []Phase {
	held := Phase{operatorsv1alpha1.CSVPhaseDeleting, reason, why}.brief(details)
	if Of(status) == held {
		return nil
	}
	return []Phase{held}
}

// NamespaceDeleted adds that the Namespace is being deleted. The only remedy comes first.
func NamespaceDeleted(inUse string) string {
	return "its Namespace is being deleted, and with it what converts: only the annotation " + wellknown.AnnotationForceConversion + "=true on the ClusterServiceVersion allows its deletion; " + inUse +
		". Nothing can be migrated any more: requests in another version than an object is stored in fail, and lose nothing. Once the annotation is set they drop fields, until the operator is installed in another Namespace"
}
