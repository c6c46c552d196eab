package lineage

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func upgradeable(status metav1.ConditionStatus, observed int64) []metav1.Condition {
	if status == "" {
		return nil
	}
	at := metav1.NewTime(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	return []metav1.Condition{{Type: operatorsv2.Upgradeable, Status: status, Message: "migrating", ObservedGeneration: observed, LastTransitionTime: at}}
}

func conditionOf(overrides, conditions metav1.ConditionStatus, status []metav1.Condition) *operatorsv2.OperatorCondition {
	return &operatorsv2.OperatorCondition{
		ObjectMeta: metav1.ObjectMeta{Generation: 2},
		Spec:       operatorsv2.OperatorConditionSpec{Overrides: upgradeable(overrides, 0), Conditions: upgradeable(conditions, 0)},
		Status:     operatorsv2.OperatorConditionStatus{Conditions: status},
	}
}

// The administrator's override has precedence over the operator's condition.
func TestNotUpgradeable(t *testing.T) {
	const no = "The operator is not upgradeable: migrating"
	for name, test := range map[string]struct {
		condition *operatorsv2.OperatorCondition
		want      string
	}{
		"no OperatorCondition":              {nil, ""},
		"reports nothing":                   {conditionOf("", "", nil), ""},
		"reports yes":                       {conditionOf("", "True", nil), ""},
		"reports no":                        {conditionOf("", "False", nil), no},
		"does not know":                     {conditionOf("", "Unknown", nil), ""},
		"no, overridden":                    {conditionOf("True", "False", nil), ""},
		"yes, overridden":                   {conditionOf("False", "True", nil), no},
		"overridden with a question":        {conditionOf("Unknown", "True", nil), no},
		"reported no before, and yes now":   {conditionOf("", "True", upgradeable("False", 1)), ""},
		"reports no in the status":          {conditionOf("", "", upgradeable("False", 2)), no},
		"reports yes in the status":         {conditionOf("", "", upgradeable("True", 2)), ""},
		"reported yes, and was changed":     {conditionOf("", "", upgradeable("True", 1)), `The operatorcondition status "Upgradeable"="True" is outdated`},
		"reported no there, and overridden": {conditionOf("True", "", upgradeable("False", 2)), ""},
	} {
		t.Run(name, func(t *testing.T) {
			installtest.Same(t, "NotUpgradeable", test.want, NotUpgradeable(test.condition))
		})
	}
}

// The condition of an operator is copied with the generation that it was observed at.
func TestMirrored(t *testing.T) {
	other := metav1.Condition{Type: "Other", Status: metav1.ConditionTrue}
	for name, test := range map[string]struct {
		condition *operatorsv2.OperatorCondition
		want      []metav1.Condition
		differ    bool
	}{
		"nothing reported":            {conditionOf("", "", []metav1.Condition{other}), []metav1.Condition{other}, false},
		"reported for the first time": {conditionOf("", "False", nil), upgradeable("False", 2), true},
		"another status reported":     {conditionOf("", "False", append(upgradeable("True", 1), other)), append(upgradeable("False", 2), other), true},
		"reported again":              {conditionOf("", "False", upgradeable("False", 1)), upgradeable("False", 2), true},
		"copied already":              {conditionOf("", "False", upgradeable("False", 2)), upgradeable("False", 2), false},
		"no longer reported":          {conditionOf("", "", upgradeable("False", 1)), upgradeable("False", 1), false},
	} {
		t.Run(name, func(t *testing.T) {
			got, differ := Mirrored(test.condition)
			installtest.Same(t, "differ", test.differ, differ)
			installtest.Same(t, "conditions", test.want, got)
		})
	}
}
