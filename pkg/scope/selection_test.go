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
	namespaces := []*corev1.Namespace{namespaceOf("plain"), namespaceOf("red", "team", "red"), namespaceOf("blue", "team", "blue", "size", "1")}
	for name, test := range map[string]struct {
		spec func(*operatorsv1.OperatorGroup)
		keys []string
	}{
		"names":             {targeting("red"), nil},
		"all":               {targeting(), nil},
		"a label":           {selecting(team("red")), []string{"team=red"}},
		"one of two values": {selecting(where("team", metav1.LabelSelectorOpIn, "red", "blue")), []string{"team=blue", "team=red"}},
		"any value":         {selecting(anyTeam), []string{"team"}},
		"no such label":     {selecting(where("team", metav1.LabelSelectorOpDoesNotExist)), []string{"*"}},
		"other values":      {selecting(where("team", metav1.LabelSelectorOpNotIn, "red")), []string{"*"}},
		"a mistake":         {selecting(invalidSelector), nil},
	} {
		group := groupOf("og", test.spec)
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
