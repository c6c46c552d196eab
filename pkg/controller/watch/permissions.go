package watch

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/queue"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/permissions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

func (h *Handlers) grantChanged(before, after drift.Object) {
	for _, binding := range present(before, after) {
		for _, subject := range informers.SubjectsOf(binding) {
			h.Versions.Enqueue(h.Caches.CSVs.By(informers.BySubject, subject)...)
		}
	}
}

func (h *Handlers) rulesChanged(before, after drift.Object) {
	role := informers.RoleKeyOf(present(before, after)[0])
	for _, binding := range h.Caches.RoleBindings.By(informers.ByRole, role) {
		h.grantChanged(nil, binding)
	}
	for _, binding := range h.Caches.ClusterRoleBindings.By(informers.ByRole, role) {
		h.grantChanged(nil, binding)
	}
}

// accountChanged ignores updates that do not change the owners.
func (h *Handlers) accountChanged(before, after drift.Object) {
	if before == nil || after == nil || !equality.Semantic.DeepEqual(before.GetOwnerReferences(), after.GetOwnerReferences()) {
		account := present(before, after)[0].(*corev1.ServiceAccount)
		h.Versions.Enqueue(h.Caches.CSVs.By(informers.BySubject, permissions.SubjectsOf(account.Namespace, account.Name)[0])...)
		for _, group := range h.Caches.Groups.In(account.Namespace) {
			if group.Spec.ServiceAccountName == account.Name {
				h.Queue.Add(queue.GroupKey(group.Namespace, group.Name))
			}
		}
	}
}
