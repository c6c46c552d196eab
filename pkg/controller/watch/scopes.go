package watch

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/queue"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
)

// GroupChanged enqueues all that depends on the scope or the list of APIs. The status does not count.
func (h *Handlers) GroupChanged(before, after drift.Object) {
	group := present(before, after)[0].(*operatorsv1.OperatorGroup)
	h.enqueueGroupsIn(group.Namespace)
	if before != nil && after != nil && before.GetUID() == after.GetUID() && before.GetGeneration() == after.GetGeneration() &&
		before.GetDeletionTimestamp().IsZero() == after.GetDeletionTimestamp().IsZero() && maps.Equal(before.GetAnnotations(), after.GetAnnotations()) {
		return
	}
	h.EnqueueCSVsIn(group.Namespace)
	h.Versions.UpdateClaims(group.Namespace)
	for _, o := range present(before, after) {
		h.enqueueTargets(o.(*operatorsv1.OperatorGroup))
	}
}

// enqueueTargets enqueues the Namespaces that a group targets, or that have its label.
func (h *Handlers) enqueueTargets(group *operatorsv1.OperatorGroup) {
	targets, err := scope.Targets(group, h.Versions.NamespacesFor(group))
	if err == nil {
		for _, name := range targets {
			h.Queue.Add(queue.NamespaceKey(name))
		}
	}
	h.enqueueNamespacesWith(scope.LabelOf(group))
}

// NamespaceChanged enqueues groups, and on creation and deletion the objects in the Namespace.
func (h *Handlers) NamespaceChanged(before, after drift.Object) {
	if before != nil && after != nil && equality.Semantic.DeepEqual(before.GetLabels(), after.GetLabels()) &&
		before.GetDeletionTimestamp().IsZero() == after.GetDeletionTimestamp().IsZero() {
		return
	}
	name := present(before, after)[0].GetName()
	h.Queue.Add(queue.NamespaceKey(name))
	h.EnqueueCSVsIn(name)
	h.Versions.UpdateClaims(name)
	was, _ := before.(*corev1.Namespace)
	is, _ := after.(*corev1.Namespace)
	for _, o := range present(before, after) {
		for _, group := range h.Versions.GroupsOf(o.(*corev1.Namespace)) {
			if scope.Concerns(group, was, is) {
				h.Scopes.Forget(group.Namespace)
				h.Queue.Add(queue.GroupKey(group.Namespace, group.Name))
				h.EnqueueCSVsIn(group.Namespace)
				h.Versions.UpdateClaims(group.Namespace)
			}
		}
	}
}
