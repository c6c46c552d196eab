package scope

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	operator "k8s.io/apimachinery/pkg/selection"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
)

// Targets returns the namespaces of spec.targetNamespaces, whether they exist or not; else those of
// spec.selector; else [""], which is all. The error names the invalid part of the spec and the remedy.
func Targets(group *operatorsv1.OperatorGroup, namespaces []*corev1.Namespace) ([]string, error) {
	wanted, err := selectionOf(group)
	switch {
	case err != nil:
		return nil, err
	case wanted.everything():
		return []string{metav1.NamespaceAll}, nil
	case len(wanted.names) > 0:
		return wanted.names, nil
	}
	matched := lists.FilterMap(namespaces, func(namespace *corev1.Namespace) (string, bool) { return namespace.Name, wanted.matches(namespace) })
	slices.Sort(matched)
	return matched, nil
}

// Covers reports whether the group of a namespace, with some groups, targets another Namespace, and whether it targets all.
// A namespace without a scope (ForNamespace) covers none. The cost does not depend on the number of Namespaces.
func Covers(groups []*operatorsv1.OperatorGroup, target *corev1.Namespace) (covers, everywhere bool) {
	live := notDeleting(groups)
	if len(live) != 1 {
		return false, false
	}
	wanted, err := selectionOf(live[0])
	switch {
	case err != nil:
		return false, false
	case wanted.everything():
		return true, true
	case len(wanted.names) > 0:
		return slices.Contains(wanted.names, target.Name), false
	default:
		return wanted.matches(target), false
	}
}

// Concerns reports whether a change of a Namespace may change the targets. nil is for none.
func Concerns(group *operatorsv1.OperatorGroup, before, after *corev1.Namespace) bool {
	wanted, err := selectionOf(group)
	switch {
	case err != nil || wanted.everything():
		return false
	case len(wanted.names) > 0:
		return slices.ContainsFunc([]*corev1.Namespace{before, after}, func(n *corev1.Namespace) bool { return n != nil && slices.Contains(wanted.names, n.Name) })
	}
	was, is := wanted.matches(before), wanted.matches(after)
	return was != is || is && before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero()
}

// Named returns the namespaces that targets depend on; all is set for every namespace.
func Named(groups []*operatorsv1.OperatorGroup) (names []string, all bool) {
	for _, group := range groups {
		if len(group.Spec.TargetNamespaces) == 0 && group.Spec.Selector != nil {
			return nil, true
		}
		names = append(names, group.Spec.TargetNamespaces...)
	}
	return lists.Sorted(names), false
}

// selection is the spec of an OperatorGroup: namespaces by name or, if it names none, by their labels.
type selection struct {
	names  []string
	labels labels.Selector
}

func selectionOf(group *operatorsv1.OperatorGroup) (selection, error) {
	if len(group.Spec.TargetNamespaces) > 0 {
		names, err := targetNames(group)
		return selection{names: names}, err
	}
	selector, err := namespaceSelector(group)
	return selection{labels: selector}, err
}

func (s selection) matches(namespace *corev1.Namespace) bool {
	return namespace != nil && s.labels.Matches(labels.Set(namespace.Labels))
}

// everything reports whether all namespaces are selected, as by an empty selector in OLM v0.
func (s selection) everything() bool { return len(s.names) == 0 && s.labels.Empty() }

// As in OLM v0, "" is refused: it stands for all namespaces, but no namespace would have the label.
func targetNames(group *operatorsv1.OperatorGroup) ([]string, error) {
	if slices.Contains(group.Spec.TargetNamespaces, metav1.NamespaceAll) {
		return nil, fmt.Errorf(
			`spec.targetNamespaces of OperatorGroup %q contains "", which names no namespace; `+
				"remove it, or, for all namespaces, leave spec.targetNamespaces and spec.selector unset",
			group.Name)
	}
	return lists.Sorted(group.Spec.TargetNamespaces), nil
}

// namespaceSelector refuses the manager's labels: their absence would set and remove them for ever.
func namespaceSelector(group *operatorsv1.OperatorGroup) (labels.Selector, error) {
	if group.Spec.Selector == nil {
		return labels.Everything(), nil
	}
	selector, err := metav1.LabelSelectorAsSelector(group.Spec.Selector)
	if err != nil {
		return nil, fmt.Errorf("spec.selector of OperatorGroup %q is not valid: %w; correct it", group.Name, err)
	}
	requirements, _ := selector.Requirements()
	for _, requirement := range requirements {
		if operatorsv1.IsOperatorGroupLabel(requirement.Key()) {
			return nil, fmt.Errorf(
				"spec.selector of OperatorGroup %q asks for the label %s, which itself follows from an OperatorGroup; select by another label",
				group.Name, requirement.Key())
		}
	}
	return selector, nil
}

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
