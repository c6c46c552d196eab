package controller

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/queue"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/records"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
)

// lookAtGroup keeps the status of an OperatorGroup true.
func (c *groupReconciler) lookAtGroup(ctx context.Context, k queue.Key) error {
	if c.caches.Groups.Get(k.Namespace, k.Name) == nil || !c.versions.inScope(k.Namespace) {
		return nil
	}
	if !c.writes.Fulfilled(k, c.caches, c.now()) {
		return informers.ErrStale
	}
	group := c.caches.Groups.Get(k.Namespace, k.Name) // with what was written
	if group == nil {
		return nil
	}
	group, why, refusal := c.tellProvidedAPIs(ctx, k, group)
	if refusal != nil && why == "" || group == nil {
		return refusal
	}
	account := c.caches.Accounts.Get(k.Namespace, group.Spec.ServiceAccountName)
	status, changed := scope.GroupStatus(group, c.caches.Groups.In(k.Namespace), c.versions.namespacesFor(group), account, scope.Refused{Labels: c.unlabelled.Of(scope.LabelOf(group)), ProvidedAPIs: why}, c.now())
	if !changed {
		return refusal
	}
	fields := groupStatusFields(status)
	if held, until, _ := c.contested.Held(groupObject(group), fields, c.now()); len(held) > 0 {
		c.queue.AddAfter(k, until.Sub(c.now()))
		return refusal
	}
	updated := group.DeepCopy()
	updated.Status = status
	written, err := c.OLM.OperatorsV1().OperatorGroups(k.Namespace).UpdateStatus(ctx, updated, metav1.UpdateOptions{FieldManager: wellknown.FieldManager})
	if err != nil {
		return err
	}
	c.contested.Wrote(groupObject(group), fields, c.now())
	if contest := c.contested.Of(groupObject(group)); contest.Contested() {
		c.events.Event(group, corev1.EventTypeWarning, managerv1alpha1.ConditionContested, contest.Message(groupObject(group).Title, c.now()))
	}
	c.writes.Add(k, informers.Write{Object: written, At: c.now()})
	return refusal
}

func groupObject(group *operatorsv1.OperatorGroup) records.FieldObject {
	return records.FieldObject{Title: operatorsv1.OperatorGroupKind + " " + group.Namespace + "/" + group.Name, UID: group.UID}
}

// lookAtNamespace keeps the labels of a Namespace as its OperatorGroups want them. Each Namespace has a
// key and retries of its own: one whose change is refused does not keep another from its labels.
func (c *groupReconciler) lookAtNamespace(ctx context.Context, k queue.Key) error {
	if c.caches.Namespaces.Get("", k.Name) != nil && !c.writes.Fulfilled(k, c.caches, c.now()) {
		return informers.ErrStale
	}
	namespace := c.caches.Namespaces.Get("", k.Name) // with what was written
	if namespace == nil {
		c.lookAtLabels(c.unlabelled.Accepted(k.Name))
		return nil
	}
	wanted := scope.LabelsOf(slices.DeleteFunc(c.versions.groupsOf(namespace), func(g *operatorsv1.OperatorGroup) bool { return !c.versions.inScope(g.Namespace) }))
	add, remove := wanted.Change(namespace)
	if len(c.Namespaces) == 0 {
		remove = append(remove, wanted.Orphaned(namespace)...)
	}
	// A live webhook must not lose a Namespace because its group went away.
	remove = slices.DeleteFunc(remove, func(label string) bool { return c.selects(label) && !c.labels(label) })
	held, until, contest := c.contested.Held(records.FieldObject{Title: "Namespace " + namespace.Name, UID: namespace.UID}, labelFields(add, remove), c.now())
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
func (c *groupReconciler) noteRefusal(namespace string, labels []string, contest string, err error) []string {
	switch {
	case err == nil && contest != "":
		return c.unlabelled.Refused(namespace, labels, contest)
	case err == nil:
		return c.unlabelled.Accepted(namespace)
	case !refused(err) && !unanswered(err):
		return nil
	default:
		return c.unlabelled.Refused(namespace, labels, err.Error())
	}
}

// groupsOf are the OperatorGroups that may target a Namespace, and those whose labels it bears.
func (c *versions) groupsOf(namespace *corev1.Namespace) []*operatorsv1.OperatorGroup {
	found := c.caches.Groups.By(informers.ByTarget, namespace.Name)
	for _, key := range scope.SelectableBy(namespace) {
		found = append(found, c.caches.Groups.By(informers.BySelection, key)...)
	}
	for _, label := range scope.GroupLabels(namespace) {
		found = append(found, c.caches.Groups.By(informers.ByGroupLabel, label)...)
	}
	slices.SortFunc(found, func(a, b *operatorsv1.OperatorGroup) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return slices.Compact(found)
}

// lookAtLabels has the OperatorGroups with some labels, and the ClusterServiceVersions of their
// namespaces, say which Namespaces could not be given them.
func (c *groupReconciler) lookAtLabels(labels []string) {
	for _, label := range labels {
		for _, group := range c.caches.Groups.By(informers.ByGroupLabel, label) {
			c.queue.Add(queue.GroupKey(group.Namespace, group.Name))
			c.handlers.lookAtCSVsOf(group.Namespace)
		}
	}
}

// label changes labels of a Namespace that is still the one that was looked at.
func (c *groupReconciler) label(ctx context.Context, k queue.Key, namespace *corev1.Namespace, add, remove []string) error {
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
	labelled, err := c.Kube.CoreV1().Namespaces().Patch(ctx, namespace.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: wellknown.FieldManager})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	c.writes.Add(k, informers.Write{Object: labelled, At: c.now()})
	c.contested.Wrote(records.FieldObject{Title: "Namespace " + namespace.Name, UID: namespace.UID}, labelFields(add, remove), c.now())
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
	return apierrors.NewForbidden(corev1.Resource("namespaces"), written.Name, errors.New(records.TakenBack(back, "Namespace")))
}

// selects reports whether live registrations select Namespaces by a label.
func (c *groupReconciler) selects(label string) bool {
	return len(c.caches.Validating.By(informers.ByGroupLabel, label))+len(c.caches.Mutating.By(informers.ByGroupLabel, label)) > 0
}

// labels tells whether a group marks its targets with the label and is not on its way
// out. It asks for the group's spec: its status may still tell of the spec before.
func (c *groupReconciler) labels(label string) bool {
	return slices.ContainsFunc(c.caches.Groups.By(informers.ByGroupLabel, label), func(g *operatorsv1.OperatorGroup) bool {
		if g.DeletionTimestamp != nil {
			return false
		}
		targets, err := scope.Targets(g, c.versions.namespacesFor(g))
		return err == nil && !slices.Contains(targets, metav1.NamespaceAll)
	})
}
