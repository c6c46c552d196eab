package integration

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

func selecting(label, value string) operatorsv1.OperatorGroupSpec {
	return operatorsv1.OperatorGroupSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{label: value}}}
}

// selectorOf is what the webhooks of a group's operators select Namespaces by.
func selectorOf(group *operatorsv1.OperatorGroup) *metav1.LabelSelector {
	switch {
	case len(group.Spec.TargetNamespaces) > 0:
		return &metav1.LabelSelector{MatchLabels: map[string]string{labelOf(group): ""}}
	case group.Spec.Selector != nil:
		return group.Spec.Selector
	default:
		return &metav1.LabelSelector{}
	}
}

// selected is what the webhook v.example.com selects Namespaces by.
func selected(e *env) *metav1.LabelSelector {
	e.Helper()
	return e.registration("v.example.com").Webhooks[0].NamespaceSelector
}

func labelOf(group *operatorsv1.OperatorGroup) string {
	return operatorsv1.OperatorGroupLabelPrefix + string(group.UID)
}

func groupStatus(e *env, name string) operatorsv1.OperatorGroupStatus {
	e.Helper()
	return kube.Get(e, e.olm.OperatorGroups(e.namespace), name).Status
}

func labelNamespace(e *env, name, label, value string) {
	e.Helper()
	kube.Patch(e, e.kube.CoreV1().Namespaces(), name, types.MergePatchType, []byte(`{"metadata":{"labels":{"`+label+`":"`+value+`"}}}`))
}

// carriesLabel waits until the targets among some Namespaces, and no others, have the label of a group.
func carriesLabel(e *env, group *operatorsv1.OperatorGroup, targets []string, all ...string) {
	e.Helper()
	for _, name := range all {
		e.eventually("the label of the group is right on Namespace "+name, func() (bool, any) {
			labels := kube.Get(e, e.kube.CoreV1().Namespaces(), name).Labels
			value, found := labels[labelOf(group)]
			return found == slices.Contains(targets, name) && value == "", labels
		})
	}
}
