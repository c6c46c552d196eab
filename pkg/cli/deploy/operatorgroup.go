package deploy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// Watched are the namespaces that an operator watches where its own namespace may have a group already: those of the
// group, unless others are chosen and no other operator exists: a group's namespaces apply to all its operators.
// kept is the message that the group is kept.
func Watched(groups []operatorsv1.OperatorGroup, chosen, others []string) (watch []string, kept string, err error) {
	switch len(groups) {
	case 0:
		return chosen, "", nil
	case 1:
	default:
		return nil, "", fmt.Errorf("namespace %s has %d OperatorGroups, and no operator works under more than one: delete all but one", groups[0].Namespace, len(groups))
	}
	group := groups[0]
	name := fmt.Sprintf("OperatorGroup %s/%s", group.Namespace, group.Name)
	switch {
	case chosen == nil && selects(group) && len(group.Status.Namespaces) == 0:
		return nil, "", fmt.Errorf("%s is for %s, and its status names none: label namespaces, check that a manager runs, or name the namespaces with --watch-namespaces", name, coverage(group))
	case chosen == nil:
		return Targets(group), fmt.Sprintf("%s exists and is kept as it is: for %s", name, coverage(group)), nil
	case len(others) == 0 || !selects(group) && slices.Equal(distinct(chosen), Targets(group)):
		return chosen, "", nil
	default:
		return nil, "", fmt.Errorf("%s is for %s, and so is %s, whose webhooks would change with it: use another namespace for this operator (-n), or leave out --all-namespaces and --watch-namespaces to keep the group as it is",
			name, coverage(group), strings.Join(others, ", "))
	}
}

// AdoptGroup sets the name of the existing group. The origin in a bundle is that of the existing group.
func AdoptGroup(group *unstructured.Unstructured, live []operatorsv1.OperatorGroup) {
	if len(live) == 1 {
		group.SetName(live[0].Name)
	}
	for _, l := range live {
		if l.Name == group.GetName() {
			limitOrigin(group, l.Annotations)
		}
	}
}

// AdoptSubscription sets the name and the origin of an existing Subscription for the package.
func AdoptSubscription(subscription *unstructured.Unstructured, live []operatorsv1alpha1.Subscription, name string) {
	for _, l := range live {
		if l.Spec != nil && l.Spec.Package == name {
			subscription.SetName(l.Name)
			limitOrigin(subscription, l.Annotations)
		}
	}
}

// limitOrigin removes the annotation for the origin in a bundle unless the live object has it.
func limitOrigin(o *unstructured.Unstructured, live map[string]string) {
	if live[wellknown.AnnotationCreatedBy] != wellknown.CreatedByBundle {
		unstructured.RemoveNestedField(o.Object, "metadata", "annotations", wellknown.AnnotationCreatedBy)
	}
}

// Targets are the namespaces that a group is for, by its status if it has a selector; one empty string is all.
func Targets(group operatorsv1.OperatorGroup) []string {
	if selects(group) {
		return group.Status.Namespaces
	}
	return distinct(group.Spec.TargetNamespaces)
}

// distinct returns all namespaces for an empty list, as OLM does.
func distinct(namespaces []string) []string {
	if len(namespaces) == 0 {
		return []string{metav1.NamespaceAll}
	}
	return slices.Compact(slices.Sorted(slices.Values(namespaces)))
}

func selects(group operatorsv1.OperatorGroup) bool {
	return len(group.Spec.TargetNamespaces) == 0 && group.Spec.Selector != nil
}

func coverage(group operatorsv1.OperatorGroup) string {
	if selects(group) {
		return fmt.Sprintf("the namespaces that its selector %q matches", metav1.FormatLabelSelector(group.Spec.Selector))
	}
	return cmp.Or(strings.Join(Targets(group), ", "), "all namespaces")
}
