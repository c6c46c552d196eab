package plan

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
)

// Condition returns the condition of OLMConfig in OLM v0's words. complete is set if exactly the requested copies exist.
func Condition(disabled, complete bool) metav1.Condition {
	condition := metav1.Condition{Type: operatorsv1.DisabledCopiedCSVsConditionType, Status: metav1.ConditionFalse}
	if disabled {
		condition.Reason = "CopiedCSVsDisabled"
	} else {
		condition.Reason = "CopiedCSVsEnabled"
	}
	switch {
	case disabled && complete:
		condition.Status = metav1.ConditionTrue
		condition.Message = "Copied CSVs are disabled and no unexpected copied CSVs were found for operators installed in AllNamespace mode"
	case disabled:
		condition.Message = "Copied CSVs are disabled and at least one unexpected copied CSV was found for an operator installed in AllNamespace mode"
	case complete:
		condition.Message = "Copied CSVs are enabled and present across the cluster"
	default:
		condition.Message = "Copied CSVs are enabled and at least one copied CSVs is missing"
	}
	return condition
}

// SetCondition returns the conditions with a condition, and whether they differ.
func SetCondition(conditions []metav1.Condition, condition metav1.Condition, now metav1.Time) ([]metav1.Condition, bool) {
	changed := slices.Clone(conditions)
	condition.LastTransitionTime = now
	differs := meta.SetStatusCondition(&changed, condition)
	return changed, differs
}
