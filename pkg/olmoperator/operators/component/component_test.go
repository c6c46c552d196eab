package component

import (
	"strings"
	"testing"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// The names are those of OLM v0.46.0: a label has at most 63 characters after its prefix, and no separator at its end.
func TestLabel(t *testing.T) {
	long := strings.Repeat("a", 61)
	for operator, want := range map[string]string{
		Operator("etcd", "shop"):     "operators.coreos.com/etcd.shop",
		Operator(long, "b"):          "operators.coreos.com/" + long + ".b",
		Operator(long, "bc"):         "operators.coreos.com/" + long + ".b",
		Operator(long+"a", "shop"):   "operators.coreos.com/" + long + "a",
		Operator(long, "-_.shop"):    "operators.coreos.com/" + long,
		Operator("a/b", "shop"):      "",
		Operator("with spaces", "a"): "",
		Operator("", "shop"):         "",
		strings.Repeat("-", 70):      "",
		Operator("Upper_Case", "a"):  "operators.coreos.com/Upper_Case.a",
	} {
		installtest.Same(t, "the label of "+operator, want, Label(operator))
	}
}

func TestOperatorsOf(t *testing.T) {
	labels := map[string]string{"operators.coreos.com/etcd.shop": "", "operators.coreos.com/a.b": "x", "olm.managed": "true", "operators.coreos.comx/c": ""}
	installtest.Same(t, "Operators", []string{"a.b", "etcd.shop"}, OperatorsOf(labels))
	installtest.None(t, "Operators without labels", OperatorsOf(nil))
	installtest.Same(t, "missing labels", []string{"operators.coreos.com/etcd.shop"}, Missing(labels, map[string]string{"operators.coreos.com/a.b": ""}))
}

func TestCanExist(t *testing.T) {
	for operator, want := range map[string]bool{"etcd.shop": true, "Upper.shop": false, "a_b.shop": false, "": false} {
		installtest.Same(t, "an Operator can be called "+operator, want, CanExist(operator))
	}
}

func TestIsExecuted(t *testing.T) {
	for phase, want := range map[operatorsv1alpha1.InstallPlanPhase]bool{
		"": true, operatorsv1alpha1.InstallPlanPhasePlanning: true, operatorsv1alpha1.InstallPlanPhaseInstalling: true,
		operatorsv1alpha1.InstallPlanPhaseRequiresApproval: false, operatorsv1alpha1.InstallPlanPhaseComplete: false, operatorsv1alpha1.InstallPlanPhaseFailed: false,
	} {
		plan := &operatorsv1alpha1.InstallPlan{Status: operatorsv1alpha1.InstallPlanStatus{Phase: phase}}
		installtest.Same(t, "an InstallPlan is executed in phase "+string(phase), want, IsExecuted(plan))
	}
}
