package controller

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/vocabulary"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
)

// lookAtGroup keeps the status of an OperatorGroup true.
func (c *Controller) lookAtGroup(ctx context.Context, k key) error {
	if c.caches.groups.get(k.namespace, k.name) == nil || !c.inScope(k.namespace) {
		return nil
	}
	if !c.writes.shown(k, c.caches, c.now()) {
		return errNotYet
	}
	group := c.caches.groups.get(k.namespace, k.name) // with what was written
	if group == nil {
		return nil
	}
	group, why, refusal := c.tellProvidedAPIs(ctx, k, group)
	if refusal != nil && why == "" || group == nil {
		return refusal
	}
	account := c.caches.accounts.get(k.namespace, group.Spec.ServiceAccountName)
	status, changed := scope.GroupStatus(group, c.caches.groups.in(k.namespace), c.namespacesFor(group), account, scope.Refused{Labels: c.unlabelled.of(scope.LabelOf(group)), ProvidedAPIs: why}, c.now())
	if !changed {
		return refusal
	}
	updated := group.DeepCopy()
	updated.Status = status
	written, err := c.OLM.OperatorsV1().OperatorGroups(k.namespace).UpdateStatus(ctx, updated, metav1.UpdateOptions{FieldManager: vocabulary.FieldManager})
	if err != nil {
		return err
	}
	c.writes.add(k, pendingWrite{object: written, at: c.now()})
	return refusal
}

// lookAtNamespace keeps the labels of a Namespace as its OperatorGroups want them. Each Namespace has a
// key and retries of its own: one whose change is refused does not keep another from its labels.
func (c *Controller) lookAtNamespace(ctx context.Context, k key) error {
	if c.caches.namespaces.get("", k.name) != nil && !c.writes.shown(k, c.caches, c.now()) {
		return errNotYet
	}
	namespace := c.caches.namespaces.get("", k.name) // with what was written
	if namespace == nil {
		c.lookAtLabels(c.unlabelled.accepted(k.name))
		return nil
	}
	wanted := scope.LabelsOf(slices.DeleteFunc(c.groupsOf(namespace), func(g *operatorsv1.OperatorGroup) bool { return !c.inScope(g.Namespace) }))
	add, remove := wanted.Change(namespace)
	if len(c.Namespaces) == 0 {
		remove = append(remove, wanted.Orphaned(namespace)...)
	}
	// A live webhook must not lose a Namespace because its group went away.
	remove = slices.DeleteFunc(remove, func(label string) bool { return c.selects(label) && !c.labels(label) })
	held, until, contest := c.contested.held(written{"Namespace " + namespace.Name, namespace.UID}, labelFields(add, remove), c.now())
	if len(held) > 0 {
		c.queue.AddAfter(k, until.Sub(c.now()))
	}
	err := c.label(ctx, k, namespace, without(add, held), without(remove, held))
	c.lookAtLabels(c.noteRefusal(namespace.Name, slices.Concat(add, remove), contest, err))
	return err
}

// without returns the labels whose fields are not among those that are held.
func without(labels, held []string) []string {
	return slices.DeleteFunc(slices.Clone(labels), func(label string) bool { return slices.Contains(held, labelField(label)) })
}

func labelField(label string) string { return "metadata.labels." + label }

// labelFields are the fields of labels that are added and removed.
func labelFields(add, remove []string) map[string]string {
	fields := map[string]string{}
	for _, label := range add {
		fields[labelField(label)] = "added"
	}
	for _, label := range remove {
		fields[labelField(label)] = ""
	}
	return fields
}

// noteRefusal remembers why the labels of a Namespace could not be changed, or are left for now to another client.
// It returns those of which there is something new to say.
func (c *Controller) noteRefusal(namespace string, labels []string, contest string, err error) []string {
	switch {
	case err == nil && contest != "":
		return c.unlabelled.refused(namespace, labels, contest)
	case err == nil:
		return c.unlabelled.accepted(namespace)
	case !refused(err) && !unanswered(err):
		return nil
	default:
		return c.unlabelled.refused(namespace, labels, err.Error())
	}
}

// groupsOf are the OperatorGroups that may target a Namespace, and those whose labels it bears.
func (c *Controller) groupsOf(namespace *corev1.Namespace) []*operatorsv1.OperatorGroup {
	found := c.caches.groups.by(byTarget, namespace.Name)
	for _, key := range scope.SelectableBy(namespace) {
		found = append(found, c.caches.groups.by(bySelection, key)...)
	}
	for _, label := range scope.GroupLabels(namespace) {
		found = append(found, c.caches.groups.by(byGroupLabel, label)...)
	}
	slices.SortFunc(found, func(a, b *operatorsv1.OperatorGroup) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return slices.Compact(found)
}

// lookAtLabels has the OperatorGroups with some labels, and the ClusterServiceVersions of their
// namespaces, say which Namespaces could not be given them.
func (c *Controller) lookAtLabels(labels []string) {
	for _, label := range labels {
		for _, group := range c.caches.groups.by(byGroupLabel, label) {
			c.queue.Add(key{groupKind, group.Namespace, group.Name})
			c.lookAtCSVsOf(group.Namespace)
		}
	}
}

// label changes labels of a Namespace that is still the one that was looked at.
func (c *Controller) label(ctx context.Context, k key, namespace *corev1.Namespace, add, remove []string) error {
	if len(add)+len(remove) == 0 {
		return nil
	}
	labels := map[string]any{}
	for _, label := range add {
		labels[label] = ""
	}
	for _, label := range remove {
		labels[label] = nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": namespace.UID, "resourceVersion": namespace.ResourceVersion, "labels": labels,
	}})
	if err != nil {
		return err
	}
	labelled, err := c.Kube.CoreV1().Namespaces().Patch(ctx, namespace.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: vocabulary.FieldManager})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	c.writes.add(k, pendingWrite{object: labelled, at: c.now()})
	c.contested.wrote(written{"Namespace " + namespace.Name, namespace.UID}, labelFields(add, remove), c.now())
	return undone(labelled, add, remove)
}

// undone is the refusal of a change of labels that admission took back: the answer does not
// have it.
func undone(written *corev1.Namespace, add, remove []string) error {
	back := slices.DeleteFunc(slices.Concat(add, remove), func(label string) bool {
		_, borne := written.Labels[label]
		return borne == slices.Contains(add, label)
	})
	if len(back) == 0 {
		return nil
	}
	return apierrors.NewForbidden(corev1.Resource("namespaces"), written.Name, errors.New(takenBack(back, "Namespace")))
}

// selects reports whether live registrations select Namespaces by a label.
func (c *Controller) selects(label string) bool {
	return len(c.caches.validating.by(byGroupLabel, label))+len(c.caches.mutating.by(byGroupLabel, label)) > 0
}

// selectedBy are the labels by which a registration selects Namespaces.
func selectedBy(registration drift.Object) map[string]bool {
	selected := map[string]bool{}
	note := func(selector *metav1.LabelSelector) {
		if selector == nil {
			return
		}
		for label := range selector.MatchLabels {
			selected[label] = true
		}
	}
	switch c := registration.(type) {
	case *admissionregistrationv1.ValidatingWebhookConfiguration:
		for _, w := range c.Webhooks {
			note(w.NamespaceSelector)
		}
	case *admissionregistrationv1.MutatingWebhookConfiguration:
		for _, w := range c.Webhooks {
			note(w.NamespaceSelector)
		}
	}
	return selected
}

// labels tells whether a group marks its targets with the label and is not on its way
// out. It asks for the group's spec: its status may still tell of the spec before.
func (c *Controller) labels(label string) bool {
	return slices.ContainsFunc(c.caches.groups.by(byGroupLabel, label), func(g *operatorsv1.OperatorGroup) bool {
		if g.DeletionTimestamp != nil {
			return false
		}
		targets, err := scope.Targets(g, c.namespacesFor(g))
		return err == nil && !slices.Contains(targets, metav1.NamespaceAll)
	})
}

// groupLabelsOf are the labels of OperatorGroups that an object bears, is the origin of, or selects by.
func groupLabelsOf(o drift.Object) []string {
	switch o := o.(type) {
	case *corev1.Namespace:
		return scope.GroupLabels(o)
	case *operatorsv1.OperatorGroup:
		return []string{scope.LabelOf(o)}
	case *admissionregistrationv1.ValidatingWebhookConfiguration, *admissionregistrationv1.MutatingWebhookConfiguration:
		return slices.DeleteFunc(slices.Collect(maps.Keys(selectedBy(o))), func(label string) bool { return !operatorsv1.IsOperatorGroupLabel(label) })
	default:
		return nil
	}
}
