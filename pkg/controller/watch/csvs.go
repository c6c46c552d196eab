package watch

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/subscriptions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/lineage"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
)

// ClaimChanged enqueues the ClusterServiceVersions that provide or own the same APIs, or name the
// same Deployments.
func (h *Handlers) ClaimChanged(before, after drift.Object) {
	changed := present(before, after)[0].(*operatorsv1alpha1.ClusterServiceVersion)
	h.Versions.UpdateClaim(changed.Namespace, changed.Name)
	if before == nil || after == nil || before.GetGeneration() != after.GetGeneration() || claimDiffers(before, after) {
		for _, csv := range present(before, after) {
			h.enqueueNeighbours(csv.(*operatorsv1alpha1.ClusterServiceVersion))
		}
	}
}

// claimDiffers reports whether an operator's right to its APIs has changed.
func claimDiffers(before, after drift.Object) bool {
	was, is := before.(*operatorsv1alpha1.ClusterServiceVersion), after.(*operatorsv1alpha1.ClusterServiceVersion)
	return lineage.Began(was) != lineage.Began(is) ||
		(was.Status.Phase == operatorsv1alpha1.CSVPhaseFailed) != (is.Status.Phase == operatorsv1alpha1.CSVPhaseFailed) ||
		was.Status.Reason != is.Status.Reason && (scope.Yields(was.Status.Reason) || scope.Yields(is.Status.Reason))
}

func (h *Handlers) enqueueNeighbours(csv *operatorsv1alpha1.ClusterServiceVersion) {
	for _, owned := range csvspec.OwnedNames(csv) {
		h.enqueueOthers(csv, h.Caches.CSVs.By(informers.ByOwned, csv.Namespace+"/"+owned))
		_, group, _ := strings.Cut(owned, ".")
		h.enqueueAPIServiceOwners(group)
	}
	for _, name := range csvspec.DeploymentNames(csv) {
		h.enqueueOthers(csv, h.Caches.CSVs.By(informers.ByDeployment, csv.Namespace+"/"+name))
	}
}

func (h *Handlers) enqueueOthers(csv *operatorsv1alpha1.ClusterServiceVersion, all []*operatorsv1alpha1.ClusterServiceVersion) {
	for _, other := range all {
		if other.Name != csv.Name {
			h.Versions.Enqueue(other)
		}
	}
}

// VersionChanged enqueues the other versions of an operator when one is created or deleted, or its
// spec or phase changes.
func (h *Handlers) VersionChanged(before, after drift.Object) {
	h.ownersChanged(before, after)
	was, _ := before.(*operatorsv1alpha1.ClusterServiceVersion)
	is, _ := after.(*operatorsv1alpha1.ClusterServiceVersion)
	if was != nil && is != nil && was.Status.Phase == is.Status.Phase && was.DeletionTimestamp.IsZero() == is.DeletionTimestamp.IsZero() &&
		equality.Semantic.DeepEqual(lineage.Replaced(was), lineage.Replaced(is)) {
		return
	}
	for _, csv := range slices.Backward(present(before, after)) {
		l := h.Versions.LineageOf(csv.(*operatorsv1alpha1.ClusterServiceVersion))
		h.Versions.Enqueue(slices.Concat(l.Older, l.Newer)...)
	}
}

// SubscriptionChanged enqueues the ClusterServiceVersions that a Subscription configures or
// configured: the versions that it names or named, and their other versions.
func (h *Handlers) SubscriptionChanged(before, after drift.Object) {
	if before != nil && after != nil && sameConfig(before.(*operatorsv1alpha1.Subscription), after.(*operatorsv1alpha1.Subscription)) {
		return
	}
	for _, s := range present(before, after) {
		h.enqueueSubscribed(s.(*operatorsv1alpha1.Subscription))
	}
}

// enqueueSubscribed enqueues the versions that a Subscription names, and their other versions.
func (h *Handlers) enqueueSubscribed(s *operatorsv1alpha1.Subscription) {
	for _, name := range subscriptions.CSVNames(s) {
		// It may be deleted, or not exist yet.
		named := &operatorsv1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name}}
		if cached := h.Caches.CSVs.Get(s.Namespace, name); cached != nil {
			named = cached
		}
		l := h.Versions.LineageOf(named)
		h.Versions.Enqueue(slices.Concat([]*operatorsv1alpha1.ClusterServiceVersion{named}, l.Older, l.Newer)...)
	}
}

// sameConfig compares all fields of a Subscription in the cache: catalogs update its status every
// few minutes.
func sameConfig(one, other *operatorsv1alpha1.Subscription) bool {
	return one.Status.InstalledCSV == other.Status.InstalledCSV && equality.Semantic.DeepEqual(one.Spec, other.Spec)
}

// apisChanged enqueues the OperatorGroup, whose annotation lists the APIs of its
// ClusterServiceVersions.
func (h *Handlers) apisChanged(before, after drift.Object) {
	if before == nil || after == nil || before.GetGeneration() != after.GetGeneration() || after.GetDeletionTimestamp() != nil || claimDiffers(before, after) {
		h.enqueueGroupsIn(present(before, after)[0].GetNamespace())
	}
}
