package component

import (
	"cmp"
	"encoding/json"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
)

// Status returns the status of an Operator, with the references in OLM v0's order. It sorts them in place.
func Status(operator string, references []operatorsv1.RichReference) operatorsv1.OperatorStatus {
	slices.SortFunc(references, func(a, b operatorsv1.RichReference) int {
		return cmp.Or(
			cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.APIVersion, b.APIVersion),
			cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return operatorsv1.OperatorStatus{Components: &operatorsv1.Components{
		LabelSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: Label(operator), Operator: metav1.LabelSelectorOpExists},
		}},
		Refs: references,
	}}
}

// Reference returns the reference of an Operator to a component.
func Reference(kind schema.GroupVersionKind, o metav1.Object, conditions []operatorsv1.Condition) operatorsv1.RichReference {
	version, name := kind.ToAPIVersionAndKind()
	return operatorsv1.RichReference{
		ObjectReference: &corev1.ObjectReference{APIVersion: version, Kind: name, Namespace: o.GetNamespace(), Name: o.GetName()},
		Conditions:      conditions,
	}
}

// Conditions converts the conditions of any kind. Fields that references do not have are dropped.
func Conditions(of any) []operatorsv1.Condition {
	text, err := json.Marshal(of)
	if err != nil {
		panic(err) // conditions of API types always marshal
	}
	var conditions []operatorsv1.Condition
	if err := json.Unmarshal(text, &conditions); err != nil {
		return nil // an object without a type can have conditions of another form
	}
	return conditions
}

// Phase returns the phase of a ClusterServiceVersion as a condition; none before the first phase.
func Phase(csv *operatorsv1alpha1.ClusterServiceVersion) []operatorsv1.Condition {
	s := csv.Status
	if s.Phase == operatorsv1alpha1.CSVPhaseNone {
		return nil
	}
	return []operatorsv1.Condition{{
		Type: operatorsv1.ConditionType(s.Phase), Status: corev1.ConditionTrue, Reason: string(s.Reason), Message: s.Message,
		LastUpdateTime: s.LastUpdateTime, LastTransitionTime: s.LastTransitionTime,
	}}
}
