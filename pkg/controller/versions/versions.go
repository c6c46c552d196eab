// Package versions reads the versions of operators from the caches, and keeps the index of their rights.
package versions

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/queue"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/records"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/subscriptions"
)

// Index reads versions from the caches, and keeps the index of their claims to APIs.
type Index struct {
	Namespaces []string
	Caches     *informers.Caches
	claims     claims // which ClusterServiceVersion provides which API, and where
	Queue      queue.Queue
	Scopes     *records.Scopes
}

// Enqueue adds ClusterServiceVersions to the queue.
func (r *Index) Enqueue(csvs ...*operatorsv1alpha1.ClusterServiceVersion) {
	for _, csv := range csvs {
		r.Queue.Add(queue.CSVKey(csv.Namespace, csv.Name))
	}
}

// Manages reports whether a ClusterServiceVersion is not a copy and its namespace is in scope.
func (r *Index) Manages(csv *operatorsv1alpha1.ClusterServiceVersion) bool {
	return !csv.IsCopied() && r.InScope(csv.Namespace)
}

// InScope reports whether the manager is responsible for a namespace.
func (r *Index) InScope(namespace string) bool {
	return len(r.Namespaces) == 0 || slices.Contains(r.Namespaces, namespace)
}

// Exists reports whether the ClusterServiceVersion with an owner ID exists, and has not ended.
func (r *Index) Exists(owner string) bool {
	return slices.ContainsFunc(r.Caches.CSVs.OfOwner(owner), func(csv *operatorsv1alpha1.ClusterServiceVersion) bool { return !csvspec.HasEnded(csv) })
}

// IsDeleted includes the deletion of the Namespace, in which no object can be created any more.
func (r *Index) IsDeleted(csv *operatorsv1alpha1.ClusterServiceVersion) bool {
	return csv.DeletionTimestamp != nil || r.IsTerminating(csv.Namespace)
}

// IsTerminating reports whether a Namespace is being deleted.
func (r *Index) IsTerminating(name string) bool {
	namespace := r.Caches.Namespaces.Get("", name)
	return namespace != nil && (namespace.DeletionTimestamp != nil || namespace.Status.Phase == corev1.NamespaceTerminating)
}

// ManagedRollouts returns the WebhookRollouts of the namespaces of this manager.
func (r *Index) ManagedRollouts() []*managerv1alpha1.WebhookRollout {
	return slices.DeleteFunc(r.Caches.Rollouts.All(), func(rollout *managerv1alpha1.WebhookRollout) bool { return !r.InScope(rollout.Namespace) })
}

// ManagedCSVs returns the ClusterServiceVersions that this manager reconciles.
func (r *Index) ManagedCSVs() []*operatorsv1alpha1.ClusterServiceVersion {
	return lists.Filter(r.Caches.CSVs.All(), r.Manages)
}

// OwnershipOf returns the proof of ownership from the caches.
func (r *Index) OwnershipOf(versions ...*operatorsv1alpha1.ClusterServiceVersion) owners.Ownership {
	var services []*corev1.Service
	var rollouts []*managerv1alpha1.WebhookRollout
	for _, csv := range versions {
		if current := r.Caches.Rollouts.Get(csv.Namespace, csv.Name); current != nil {
			rollouts = append(rollouts, current)
		}
		services = append(services, r.Caches.Services.OfOwner(informers.OwnerID(csv.Namespace, csv.Name))...)
	}
	return owners.NewOwnership(versions, services, rollouts...)
}

// ConfigOf returns the config of the Subscription of a ClusterServiceVersion.
func (r *Index) ConfigOf(csv *operatorsv1alpha1.ClusterServiceVersion) subscriptions.Config {
	lister := r.listerOf(csv, func(name string) []*operatorsv1alpha1.Subscription {
		return r.Caches.Subscriptions.By(informers.ByNamed, csv.Namespace+"/"+name)
	})
	config := subscriptions.ConfigOf(subscriptions.Find(csv, lister))
	if config.Subscription != "" {
		config.AlsoNaming = subscriptions.AlsoNaming(csv, lister)
	}
	return config
}

// WithBudgetIn returns the ClusterServiceVersions of a namespace for which an annotation asks for PodDisruptionBudgets.
func (r *Index) WithBudgetIn(namespace string) []*operatorsv1alpha1.ClusterServiceVersion {
	return lists.Filter(r.Caches.CSVs.In(namespace), func(csv *operatorsv1alpha1.ClusterServiceVersion) bool { return r.ConfigOf(csv).HasBudget(csv) })
}

// SubscriptionOf returns the Subscription of a ClusterServiceVersion among the Subscriptions that name one (see subscriptions.Lister).
func (r *Index) SubscriptionOf(csv *operatorsv1alpha1.ClusterServiceVersion, naming func(csv string) []*operatorsv1alpha1.Subscription) *operatorsv1alpha1.Subscription {
	return subscriptions.Find(csv, r.listerOf(csv, naming))
}

func (r *Index) listerOf(csv *operatorsv1alpha1.ClusterServiceVersion, naming func(csv string) []*operatorsv1alpha1.Subscription) subscriptions.Lister {
	relatives := r.relativesIn(csv.Namespace)
	return subscriptions.Lister{Naming: naming, Named: relatives.Named, Replacing: relatives.Replacing}
}
