package watch

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/queue"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/subscriptions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/lineage"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
)

// ClaimChanged enqueues ClusterServiceVersions with the same APIs or Deployments.
func (h *Handlers) ClaimChanged(before, after drift.Object) {
	changed := present(before, after)[0].(*operatorsv1alpha1.ClusterServiceVersion)
	claims := h.Versions.UpdateClaim(changed.Namespace, changed.Name)
	if before == nil || after == nil || before.GetGeneration() != after.GetGeneration() || claimDiffers(before, after) {
		for _, csv := range present(before, after) {
			h.enqueueNeighbours(csv.(*operatorsv1alpha1.ClusterServiceVersion))
			if !claims {
				h.enqueueGroupOwners(csvspec.OwnedNames(csv.(*operatorsv1alpha1.ClusterServiceVersion)))
			}
		}
	}
	if before == nil || after == nil {
		h.ownerExists(changed)
	}
}

// enqueueGroupOwners is for a version without a claim: no index shows whose right depends on its definitions.
func (h *Handlers) enqueueGroupOwners(owned []string) {
	for _, name := range owned {
		_, group, _ := strings.Cut(name, ".")
		h.enqueueAPIServiceOwners(group)
	}
}

// ownerExists is about a created or deleted version: others can adopt its APIServices only if it does not exist.
func (h *Handlers) ownerExists(csv *operatorsv1alpha1.ClusterServiceVersion) {
	for _, left := range h.Caches.APIServices.OfOwner(informers.OwnerID(csv.Namespace, csv.Name)) {
		h.enqueueAPIServiceOwners(left.Spec.Group)
	}
}

// copyChanged enqueues an original that the label of copies hides.
func (h *Handlers) copyChanged(_, after drift.Object) {
	if after != nil && after.(*informers.Copy).Finalized {
		h.Queue.AddWithPriority(queue.CSVKey(after.GetNamespace(), after.GetName()), queue.Urgent)
	}
}

// hidden enqueues a version that is not deleted, but got the label of copies. The order of the two watches is not known.
func (h *Handlers) hidden(before, after drift.Object) {
	if after != nil {
		return
	}
	if labelled := h.Caches.Copies.Get(before.GetNamespace(), before.GetName()); labelled != nil {
		h.copyChanged(nil, labelled)
	}
}

func claimDiffers(before, after drift.Object) bool {
	was, is := before.(*operatorsv1alpha1.ClusterServiceVersion), after.(*operatorsv1alpha1.ClusterServiceVersion)
	return lineage.Began(was) != lineage.Began(is) ||
		(was.Status.Phase == operatorsv1alpha1.CSVPhaseFailed) != (is.Status.Phase == operatorsv1alpha1.CSVPhaseFailed) ||
		was.Status.Reason != is.Status.Reason && (scope.Yields(was.Status.Reason) || scope.Yields(is.Status.Reason))
}

func (h *Handlers) enqueueNeighbours(csv *operatorsv1alpha1.ClusterServiceVersion) {
	for _, owned := range csvspec.OwnedNames(csv) {
		h.enqueueOthers(csv, h.Caches.CSVs.By(informers.ByOwned, csv.Namespace+"/"+owned))
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

// versionCached records when the caches have a version.
func (h *Handlers) versionCached(before, after drift.Object) {
	if before == nil {
		h.SubscriptionReads.AddVersion(after.GetUID(), h.Now())
	}
}

// VersionChanged enqueues the other versions that a change of one affects.
func (h *Handlers) VersionChanged(before, after drift.Object) {
	h.ownersChanged(before, after)
	was, _ := before.(*operatorsv1alpha1.ClusterServiceVersion)
	is, _ := after.(*operatorsv1alpha1.ClusterServiceVersion)
	if !affectsOthers(was, is) {
		return
	}
	for _, csv := range slices.Backward(present(before, after)) {
		l := h.Versions.LineageOf(csv.(*operatorsv1alpha1.ClusterServiceVersion))
		h.Versions.Enqueue(slices.Concat(l.Older, l.Newer)...)
	}
}

// affectsOthers reports whether a version is created, deleted or has ended, or whether its phase changes, or what it replaces.
func affectsOthers(was, is *operatorsv1alpha1.ClusterServiceVersion) bool {
	return was == nil || is == nil || was.Status.Phase != is.Status.Phase || was.DeletionTimestamp.IsZero() != is.DeletionTimestamp.IsZero() ||
		csvspec.HasEnded(was) != csvspec.HasEnded(is) || !equality.Semantic.DeepEqual(lineage.Replaced(was), lineage.Replaced(is))
}

// SubscriptionChanged enqueues the named versions, before and after, and their other versions.
func (h *Handlers) SubscriptionChanged(before, after drift.Object) {
	if before != nil && after != nil && sameConfig(before.(*operatorsv1alpha1.Subscription), after.(*operatorsv1alpha1.Subscription)) {
		return
	}
	for _, s := range present(before, after) {
		h.enqueueSubscribed(s.(*operatorsv1alpha1.Subscription))
	}
}

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

// sameConfig ignores most of the status, which catalogs update every few minutes.
func sameConfig(one, other *operatorsv1alpha1.Subscription) bool {
	return slices.Equal(subscriptions.CSVNames(one), subscriptions.CSVNames(other)) && one.Status.InstalledCSV == other.Status.InstalledCSV && equality.Semantic.DeepEqual(one.Spec, other.Spec)
}

func isNew(o drift.Object) bool {
	return o.(*operatorsv1alpha1.ClusterServiceVersion).Status.Phase == operatorsv1alpha1.CSVPhaseNone
}

// The annotation of the OperatorGroup lists the APIs of its operators.
func (h *Handlers) apisChanged(before, after drift.Object) {
	if before == nil || after == nil || before.GetGeneration() != after.GetGeneration() || after.GetDeletionTimestamp() != nil || isNew(before) != isNew(after) || claimDiffers(before, after) {
		h.enqueueGroupsIn(present(before, after)[0].GetNamespace())
	}
}
