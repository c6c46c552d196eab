package lineage

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
)

// NotUpgradeable reads the override, spec.conditions, then the status, as OLM v0 does. Empty if an upgrade may start.
func NotUpgradeable(condition *operatorsv2.OperatorCondition) string {
	if condition == nil {
		return ""
	}
	if c := meta.FindStatusCondition(condition.Spec.Overrides, operatorsv2.Upgradeable); c != nil {
		return unless(c.Status == metav1.ConditionTrue, c)
	}
	if c := meta.FindStatusCondition(condition.Spec.Conditions, operatorsv2.Upgradeable); c != nil {
		return unless(c.Status != metav1.ConditionFalse, c)
	}
	c := meta.FindStatusCondition(condition.Status.Conditions, operatorsv2.Upgradeable)
	switch {
	case c == nil:
		return ""
	case c.ObservedGeneration < condition.Generation:
		return fmt.Sprintf("The operatorcondition status %q=%q is outdated", c.Type, c.Status)
	default:
		return unless(c.Status != metav1.ConditionFalse, c)
	}
}

func unless(upgradeable bool, c *metav1.Condition) string {
	if upgradeable {
		return ""
	}
	return "The operator is not upgradeable: " + c.Message
}

// Mirrored returns the conditions of spec and status in one list, and whether the live ones differ.
func Mirrored(condition *operatorsv2.OperatorCondition) (conditions []metav1.Condition, differ bool) {
	mirrored := condition.DeepCopy().Status.Conditions
	for _, said := range condition.Spec.Conditions {
		if there := meta.FindStatusCondition(mirrored, said.Type); there != nil && there.Status == said.Status && there.ObservedGeneration == condition.Generation {
			continue
		}
		said.ObservedGeneration = condition.Generation
		meta.SetStatusCondition(&mirrored, said)
	}
	for i := range mirrored {
		if mirrored[i].LastTransitionTime.IsZero() { // The live one could not be decoded.
			mirrored[i].LastTransitionTime = condition.CreationTimestamp
		}
	}
	return mirrored, !equality.Semantic.DeepEqual(mirrored, condition.Status.Conditions)
}
