package scope

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
)

// NamespaceLabels is an index of the labels that OperatorGroups put on their targets, unless these are all
// namespaces. The cost for all Namespaces is proportional to the groups, targets and Namespaces, plus one
// match for each pair of Namespace and selector.
type NamespaceLabels struct {
	named    map[string][]string // by Namespace, the labels of the groups that name it
	selected []selectedLabel
	// removable has the labels of all groups, and whether Namespaces that are no targets lose them.
	removable map[string]bool
}

// selectedLabel is the label of a group that selects its targets.
type selectedLabel struct {
	key      string
	selector labels.Selector
}

// LabelsOf ignores the targets of deleted groups. Labels of invalid groups stay: a mistake must not remove webhooks.
func LabelsOf(groups []*operatorsv1.OperatorGroup) NamespaceLabels {
	index := NamespaceLabels{named: map[string][]string{}, removable: map[string]bool{}}
	for _, group := range groups {
		index.add(group)
	}
	return index
}

func (l *NamespaceLabels) add(group *operatorsv1.OperatorGroup) {
	key := LabelOf(group)
	wanted, err := selectionOf(group)
	deleting := !group.DeletionTimestamp.IsZero()
	l.removable[key] = deleting || err == nil
	if deleting || err != nil || wanted.everything() {
		return
	}
	if len(wanted.names) == 0 {
		l.selected = append(l.selected, selectedLabel{key: key, selector: wanted.labels})
	}
	for _, name := range wanted.names {
		l.named[name] = append(l.named[name], key)
	}
}

// Change returns the labels to set to "" on a Namespace, and the labels to remove, both sorted.
//
// Labels can be added at any time. A removal excludes the Namespace from every webhook that still
// selects by the label: if a group changes to all namespaces, its webhooks' selectors change first.
func (l NamespaceLabels) Change(namespace *corev1.Namespace) (add, remove []string) {
	wanted := l.wanted(namespace)
	add = lists.Filter(wanted, func(key string) bool { return !carries(namespace, key) })
	remove = lists.Filter(slices.Sorted(maps.Keys(namespace.Labels)), func(key string) bool { return l.removable[key] && !slices.Contains(wanted, key) })
	slices.Sort(add)
	return add, remove
}

// Orphaned returns labels of groups that LabelsOf was not given: they are deleted, or belong to other managers.
func (l NamespaceLabels) Orphaned(namespace *corev1.Namespace) []string {
	return lists.Filter(GroupLabels(namespace), func(key string) bool {
		_, known := l.removable[key]
		return !known
	})
}

func (l NamespaceLabels) wanted(namespace *corev1.Namespace) []string {
	selected := lists.FilterMap(l.selected, func(group selectedLabel) (string, bool) {
		return group.key, group.selector.Matches(labels.Set(namespace.Labels))
	})
	return slices.Concat(l.named[namespace.Name], selected)
}

// Unlabelled returns the existing targets without the label, sorted; none with spec.selector, which webhooks use.
func (s Scope) Unlabelled(namespaces []*corev1.Namespace) []string {
	if len(s.Group.Spec.TargetNamespaces) == 0 {
		return nil
	}
	unlabelled := lists.FilterMap(namespaces, func(namespace *corev1.Namespace) (string, bool) {
		_, target := slices.BinarySearch(s.Namespaces, namespace.Name)
		return namespace.Name, target && !carries(namespace, LabelOf(s.Group))
	})
	slices.Sort(unlabelled)
	return unlabelled
}

// carries compares the value as well, as a webhook's selector does.
func carries(namespace *corev1.Namespace, key string) bool {
	value, found := namespace.Labels[key]
	return found && value == ""
}

// LabelOf returns the label by which the webhooks of an OperatorGroup select its targets.
func LabelOf(group *operatorsv1.OperatorGroup) string {
	return operatorsv1.OperatorGroupLabelPrefix + string(group.UID)
}

// GroupLabels returns the labels of OperatorGroups that a Namespace has, sorted.
func GroupLabels(namespace *corev1.Namespace) []string {
	return lists.Filter(slices.Sorted(maps.Keys(namespace.Labels)), operatorsv1.IsOperatorGroupLabel)
}
