package controller

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/vocabulary"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
)

// lookAtGroup keeps the status of an OperatorGroup true.
func (c *Controller) lookAtGroup(ctx context.Context, k key) error {
	group := c.caches.groups.get(k.namespace, k.name)
	if group == nil || !c.inScope(k.namespace) {
		return nil
	}
	if !c.writes.shown(k, c.caches, c.now()) {
		return errNotYet
	}
	if provided := scope.ProvidedAPIs(c.caches.csvs.in(k.namespace)); scope.ProvidedAPIsDiffer(group, provided) {
		return c.tellProvidedAPIs(ctx, k, group, provided)
	}
	account := c.caches.accounts.get(k.namespace, group.Spec.ServiceAccountName)
	status, changed := scope.GroupStatus(group, c.caches.groups.in(k.namespace), c.namespacesFor(group), account, c.now())
	if !changed {
		return nil
	}
	updated := group.DeepCopy()
	updated.Status = status
	written, err := c.OLM.OperatorsV1().OperatorGroups(k.namespace).UpdateStatus(ctx, updated, metav1.UpdateOptions{FieldManager: vocabulary.FieldManager})
	if err != nil {
		return err
	}
	c.writes.add(k, pendingWrite{object: written, at: c.now()})
	return nil
}

// tellProvidedAPIs writes the annotation by which a group tells what its operators own.
func (c *Controller) tellProvidedAPIs(ctx context.Context, k key, group *operatorsv1.OperatorGroup, provided string) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": group.UID, "resourceVersion": group.ResourceVersion,
		"annotations": map[string]any{operatorsv1.OperatorGroupProvidedAPIsAnnotationKey: provided},
	}})
	if err != nil {
		return err
	}
	written, err := c.OLM.OperatorsV1().OperatorGroups(group.Namespace).Patch(ctx, group.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: vocabulary.FieldManager})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	c.writes.add(k, pendingWrite{object: written, at: c.now()})
	return nil
}

// lookAtNamespaces keeps the labels of all Namespaces as their OperatorGroups want them.
func (c *Controller) lookAtNamespaces(ctx context.Context) error {
	k := key{kind: namespacesKind}
	if !c.writes.shown(k, c.caches, c.now()) {
		return errNotYet
	}
	wanted := scope.LabelsOf(slices.DeleteFunc(c.caches.groups.all(), func(g *operatorsv1.OperatorGroup) bool { return !c.inScope(g.Namespace) }))
	selected := c.selectedLabels()
	for _, namespace := range c.caches.namespaces.all() {
		add, remove := wanted.Change(namespace)
		if len(c.Namespaces) == 0 {
			remove = append(remove, wanted.Orphaned(namespace)...)
		}
		// A live webhook must not lose a Namespace because its group went away.
		remove = slices.DeleteFunc(remove, func(label string) bool { return selected[label] && !c.labels(label) })
		if err := c.label(ctx, k, namespace, add, remove); err != nil {
			return err
		}
	}
	return nil
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
	written, err := c.Kube.CoreV1().Namespaces().Patch(ctx, namespace.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: vocabulary.FieldManager})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	c.writes.add(k, pendingWrite{object: written, at: c.now()})
	return nil
}

// selectedLabels are the labels by which live registrations select Namespaces.
func (c *Controller) selectedLabels() map[string]bool {
	selected := map[string]bool{}
	for _, configuration := range c.caches.validating.all() {
		maps.Copy(selected, selectedBy(configuration))
	}
	for _, configuration := range c.caches.mutating.all() {
		maps.Copy(selected, selectedBy(configuration))
	}
	return selected
}

// selectedBy are the labels by which a registration selects Namespaces.
func selectedBy(registration rollout.Object) map[string]bool {
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
	return slices.ContainsFunc(c.caches.groups.all(), func(g *operatorsv1.OperatorGroup) bool {
		if operatorsv1.OperatorGroupLabelPrefix+string(g.UID) != label || g.DeletionTimestamp != nil {
			return false
		}
		targets, err := scope.Targets(g, c.namespacesFor(g))
		return err == nil && !slices.Contains(targets, metav1.NamespaceAll)
	})
}
