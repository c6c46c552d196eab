package scope

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	operator "k8s.io/apimachinery/pkg/selection"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
)

// anyNamespace is the key of the OperatorGroups that may select a Namespace with any labels.
const anyNamespace = "*"

// SelectionKeys returns the keys of a group with a selector. Each Namespace that it selects has one (SelectableBy).
func SelectionKeys(group *operatorsv1.OperatorGroup) []string {
	wanted, err := selectionOf(group)
	if err != nil || len(wanted.names) > 0 || wanted.everything() {
		return nil
	}
	requirements, _ := wanted.labels.Requirements()
	for _, r := range requirements {
		if keys := requiredLabels(r); len(keys) > 0 {
			return keys
		}
	}
	return []string{anyNamespace}
}

// A Namespace must have one of the labels; none where it needs none.
func requiredLabels(r labels.Requirement) []string {
	switch r.Operator() {
	case operator.Exists:
		return []string{r.Key()}
	case operator.In, operator.Equals, operator.DoubleEquals:
		var keys []string
		for value := range r.Values() {
			keys = append(keys, r.Key()+"="+value)
		}
		return keys
	default:
		return nil
	}
}

// SelectableBy returns the keys of the OperatorGroups that may select a Namespace.
func SelectableBy(namespace *corev1.Namespace) []string {
	keys := []string{anyNamespace}
	for label, value := range namespace.Labels {
		keys = append(keys, label, label+"="+value)
	}
	return keys
}

// TargetNames returns the Namespaces that an OperatorGroup names.
func TargetNames(group *operatorsv1.OperatorGroup) []string {
	wanted, err := selectionOf(group)
	if err != nil {
		return nil
	}
	return wanted.names
}
