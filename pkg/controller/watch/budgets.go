package watch

import (
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/queue"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// budgetChanged handles budgets with the label of derived objects: those of the manager, of other operators, and of clients
// that wrote the label.
func (h *Handlers) budgetChanged(before, after drift.Object) {
	if onlyStatusDiffers(before, after) {
		return
	}
	h.ownersChanged(before, after)
	h.OtherBudgetChanged(before, after)
}

// OtherBudgetChanged enqueues the ClusterServiceVersions of the namespace that have budgets: two budgets must not select a pod.
func (h *Handlers) OtherBudgetChanged(before, after drift.Object) {
	if onlyStatusDiffers(before, after) {
		return
	}
	for _, csv := range h.Versions.WithBudgetIn(present(before, after)[0].GetNamespace()) {
		h.enqueueOwner(queue.Regular, csv, after)
	}
}

// onlyStatusDiffers reports whether the disruption controller wrote the status, which the caches do not have.
func onlyStatusDiffers(before, after drift.Object) bool {
	if before == nil || after == nil {
		return false
	}
	return equality.Semantic.DeepEqual(withoutVersion(before), withoutVersion(after))
}

func withoutVersion(o drift.Object) drift.Object {
	budget := *o.(*policyv1.PodDisruptionBudget)
	budget.ResourceVersion, budget.ManagedFields = "", nil
	return &budget
}
