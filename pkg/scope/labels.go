package scope

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
)

// NamespaceLabels knows which Namespaces carry the labels of which OperatorGroups:
// each target carries its group's olm.operatorgroup.uid/<uid>, with the value "",
// unless the group targets all namespaces.
//
// It is built once from the groups and then asked for each Namespace, so that a
// pass over all Namespaces costs as much as there are groups, targets and
// Namespaces, plus one match for each pair of Namespace and selector.
type NamespaceLabels struct {
	named    map[string][]string // by Namespace, the labels of the groups that name it
	selected []selectedLabel
	// removable has the label of every group, and whether it is removed where it
	// is not wanted.
	removable map[string]bool
}

// selectedLabel is the label of a group that selects its targets.
type selectedLabel struct {
	key      string
	selector labels.Selector
}

// LabelsOf are the Namespace labels of OperatorGroups.
//
// A group that is being deleted wants no label any more. Where a group with a spec
// that cannot be understood has labels they stay: a slip of the pen must not take
// webhooks away from namespaces.
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

// Change is what a Namespace's labels lack, to be set to "", and what they have too
// much, both sorted.
//
// Adding may come at any time. Removing takes the Namespace away from every webhook
// that still selects by the label: when a group comes to target all namespaces, its
// webhooks' selectors go first.
func (l NamespaceLabels) Change(namespace *corev1.Namespace) (add, remove []string) {
	wanted := l.wanted(namespace)
	for _, key := range wanted {
		if !carries(namespace, key) {
			add = append(add, key)
		}
	}
	for key := range namespace.Labels {
		if l.removable[key] && !slices.Contains(wanted, key) {
			remove = append(remove, key)
		}
	}
	slices.Sort(add)
	slices.Sort(remove)
	return add, remove
}

// Orphaned are a Namespace's labels of groups that LabelsOf was not given, sorted:
// groups that do not exist any more, if it was given all in the cluster. A manager
// that looks after some namespaces alone cannot distinguish them from its neighbours'.
func (l NamespaceLabels) Orphaned(namespace *corev1.Namespace) []string {
	var orphaned []string
	for key := range namespace.Labels {
		if _, known := l.removable[key]; !known && operatorsv1.IsOperatorGroupLabel(key) {
			orphaned = append(orphaned, key)
		}
	}
	slices.Sort(orphaned)
	return orphaned
}

func (l NamespaceLabels) wanted(namespace *corev1.Namespace) []string {
	wanted := slices.Clone(l.named[namespace.Name])
	for _, group := range l.selected {
		if group.selector.Matches(labels.Set(namespace.Labels)) {
			wanted = append(wanted, group.key)
		}
	}
	return wanted
}

// Unlabelled are the existing target namespaces that the scope's webhooks would
// miss because they do not carry the group's label yet, sorted: a registration
// waits for those.
//
// There are none when webhooks do not select by that label: with spec.selector they
// use the selector itself, so they see every target from the start.
func (s Scope) Unlabelled(namespaces []*corev1.Namespace) []string {
	if len(s.Group.Spec.TargetNamespaces) == 0 {
		return nil
	}
	var unlabelled []string
	for _, namespace := range namespaces {
		if _, target := slices.BinarySearch(s.Namespaces, namespace.Name); target && !carries(namespace, LabelOf(s.Group)) {
			unlabelled = append(unlabelled, namespace.Name)
		}
	}
	slices.Sort(unlabelled)
	return unlabelled
}

// carries asks for the value as well: a webhook's selector does.
func carries(namespace *corev1.Namespace, key string) bool {
	value, found := namespace.Labels[key]
	return found && value == ""
}

// LabelOf returns the label by which the webhooks of an OperatorGroup select its targets.
func LabelOf(group *operatorsv1.OperatorGroup) string {
	return operatorsv1.OperatorGroupLabelPrefix + string(group.UID)
}

// GroupLabels returns the labels of OperatorGroups that a Namespace bears.
func GroupLabels(namespace *corev1.Namespace) []string {
	var keys []string
	for key := range namespace.Labels {
		if operatorsv1.IsOperatorGroupLabel(key) {
			keys = append(keys, key)
		}
	}
	return keys
}
