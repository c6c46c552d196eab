package scope

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
)

// Everything that a group selects is found by its keys.
func TestSelectionKeys(t *testing.T) {
	expression := func(key string, operator metav1.LabelSelectorOperator, values ...string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: key, Operator: operator, Values: values}}}
	}
	namespaces := []*corev1.Namespace{
		{ObjectMeta: metav1.ObjectMeta{Name: "plain"}},
		{ObjectMeta: metav1.ObjectMeta{Name: "red", Labels: map[string]string{"team": "red"}}},
		{ObjectMeta: metav1.ObjectMeta{Name: "blue", Labels: map[string]string{"team": "blue", "size": "1"}}},
	}
	for name, test := range map[string]struct {
		spec operatorsv1.OperatorGroupSpec
		keys []string
	}{
		"names":             {operatorsv1.OperatorGroupSpec{TargetNamespaces: []string{"red"}}, nil},
		"all":               {operatorsv1.OperatorGroupSpec{}, nil},
		"a label":           {operatorsv1.OperatorGroupSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "red"}}}, []string{"team=red"}},
		"one of two values": {operatorsv1.OperatorGroupSpec{Selector: expression("team", metav1.LabelSelectorOpIn, "red", "blue")}, []string{"team=blue", "team=red"}},
		"any value":         {operatorsv1.OperatorGroupSpec{Selector: expression("team", metav1.LabelSelectorOpExists)}, []string{"team"}},
		"no such label":     {operatorsv1.OperatorGroupSpec{Selector: expression("team", metav1.LabelSelectorOpDoesNotExist)}, []string{"*"}},
		"other values":      {operatorsv1.OperatorGroupSpec{Selector: expression("team", metav1.LabelSelectorOpNotIn, "red")}, []string{"*"}},
		"a mistake":         {operatorsv1.OperatorGroupSpec{Selector: expression("team", "Near")}, nil},
	} {
		group := &operatorsv1.OperatorGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "og"}, Spec: test.spec}
		keys := SelectionKeys(group)
		slices.Sort(keys)
		if !slices.Equal(keys, test.keys) {
			t.Errorf("%s: keys %v, want %v", name, keys, test.keys)
		}
		targets, err := Targets(group, namespaces)
		if err != nil || len(test.keys) == 0 {
			continue
		}
		for _, target := range targets {
			i := slices.IndexFunc(namespaces, func(n *corev1.Namespace) bool { return n.Name == target })
			if !slices.ContainsFunc(SelectableBy(namespaces[i]), func(key string) bool { return slices.Contains(keys, key) }) {
				t.Errorf("%s: Namespace %s is selected, and not found by %v", name, target, keys)
			}
		}
	}
}
