// Package versions reads from the caches what the versions of an operator are, and what each of them may have.
package versions

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/queue"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/records"
)

// Reader reads the caches for the versions of operators, and what they may have.
type Reader struct {
	Namespaces []string
	Caches     *informers.Caches
	claims     claims // which ClusterServiceVersion provides which API, and where
	Queue      queue.Queue
	Scopes     *records.Scopes
}

// Enqueue adds a ClusterServiceVersion to the queue.
func (r *Reader) Enqueue(csv *operatorsv1alpha1.ClusterServiceVersion) {
	r.Queue.Add(queue.CSVKey(csv.Namespace, csv.Name))
}

// Manages tells which ClusterServiceVersions are looked after: neither copies nor
// those of namespaces that are somebody else's.
func (r *Reader) Manages(csv *operatorsv1alpha1.ClusterServiceVersion) bool {
	return !csv.IsCopied() && r.InScope(csv.Namespace)
}

// InScope reports whether the manager is responsible for a namespace.
func (r *Reader) InScope(namespace string) bool {
	return len(r.Namespaces) == 0 || slices.Contains(r.Namespaces, namespace)
}

// IsDeleted tells whether the ClusterServiceVersion is on its way out, alone or with
// its Namespace, where nothing can be created any more.
func (r *Reader) IsDeleted(csv *operatorsv1alpha1.ClusterServiceVersion) bool {
	if csv.DeletionTimestamp != nil {
		return true
	}
	return r.IsTerminating(csv.Namespace)
}

// IsTerminating reports whether a Namespace is being deleted.
func (r *Reader) IsTerminating(name string) bool {
	namespace := r.Caches.Namespaces.Get("", name)
	return namespace != nil && (namespace.DeletionTimestamp != nil || namespace.Status.Phase == corev1.NamespaceTerminating)
}

// ManagedRollouts are those of the namespaces that this manager looks after.
func (r *Reader) ManagedRollouts() []*managerv1alpha1.WebhookRollout {
	var managed []*managerv1alpha1.WebhookRollout
	for _, rollout := range r.Caches.Rollouts.All() {
		if r.InScope(rollout.Namespace) {
			managed = append(managed, rollout)
		}
	}
	return managed
}
