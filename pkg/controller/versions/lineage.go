package versions

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/lineage"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/phase"
)

// LineageOf returns the other versions of an operator, without newer ones whose end the manager has completed: finalizers of
// other clients can keep them for long.
func (r *Index) LineageOf(csv *operatorsv1alpha1.ClusterServiceVersion) lineage.Lineage {
	l := lineage.Of(csv, r.relativesIn(csv.Namespace))
	l.Newer = slices.DeleteFunc(l.Newer, csvspec.HasEnded)
	return l
}

// SiblingsOf returns the other versions that replace the same version (see lineage.Siblings).
func (r *Index) SiblingsOf(csv *operatorsv1alpha1.ClusterServiceVersion, l lineage.Lineage) []*operatorsv1alpha1.ClusterServiceVersion {
	return lineage.Siblings(csv, l, r.relativesIn(csv.Namespace))
}

func (r *Index) relativesIn(namespace string) lineage.Namespace {
	return lineage.Namespace{
		Named: func(name string) *operatorsv1alpha1.ClusterServiceVersion {
			return r.Caches.CSVs.Get(namespace, name)
		},
		Replacing: func(name string) []*operatorsv1alpha1.ClusterServiceVersion {
			return r.Caches.CSVs.By(informers.ByReplaced, namespace+"/"+name)
		},
		TookFrom: r.adoptedFrom,
		TakenBy:  r.adoptedBy,
	}
}

// adoptedFrom returns versions that still own an adopted Deployment.
func (r *Index) adoptedFrom(csv *operatorsv1alpha1.ClusterServiceVersion) []*operatorsv1alpha1.ClusterServiceVersion {
	return r.coOwnersOfDeployments(csv, func(d *appsv1.Deployment, other *operatorsv1alpha1.ClusterServiceVersion) bool {
		return csvspec.HasOwnerLabels(d, csv) && r.recordsUpgrade(other, csv)
	})
}

// adoptedBy returns versions that have adopted a Deployment of this one.
func (r *Index) adoptedBy(csv *operatorsv1alpha1.ClusterServiceVersion) []*operatorsv1alpha1.ClusterServiceVersion {
	return r.coOwnersOfDeployments(csv, func(d *appsv1.Deployment, other *operatorsv1alpha1.ClusterServiceVersion) bool {
		return csvspec.HasOwnerLabels(d, other) && r.recordsUpgrade(csv, other)
	})
}

func (r *Index) coOwnersOfDeployments(csv *operatorsv1alpha1.ClusterServiceVersion, counts func(*appsv1.Deployment, *operatorsv1alpha1.ClusterServiceVersion) bool) (versions []*operatorsv1alpha1.ClusterServiceVersion) {
	for _, d := range r.Caches.Deployments.OfOwner(informers.OwnerID(csv.Namespace, csv.Name)) {
		for _, other := range r.coOwners(d, csv) {
			if csvspec.Owns(csv, d) && counts(d, other) {
				versions = append(versions, other)
			}
		}
	}
	return versions
}

// recordsUpgrade requires the WebhookRollout of the newer version and the phase of the older one. Owner
// references alone are no proof: every client that may edit a Deployment may write them. Nor is the
// WebhookRollout: a client that may write its status may not be allowed to write the older version.
func (r *Index) recordsUpgrade(older, newer *operatorsv1alpha1.ClusterServiceVersion) bool {
	current := r.Caches.Rollouts.Get(newer.Namespace, newer.Name)
	return phase.IsReplaced(older.Status.Phase) &&
		current != nil && current.Status.Upgrade != nil && slices.Contains(current.Status.Upgrade.From, older.Name)
}

func (r *Index) coOwners(o drift.Object, csv *operatorsv1alpha1.ClusterServiceVersion) (others []*operatorsv1alpha1.ClusterServiceVersion) {
	for _, reference := range o.GetOwnerReferences() {
		other := r.Caches.CSVs.Get(o.GetNamespace(), reference.Name)
		if other != nil && other.UID == reference.UID && other.Name != csv.Name {
			others = append(others, other)
		}
	}
	return others
}

// Began reports whether a version has started to replace others: by its phase, or by owning an object.
func (r *Index) Began(csv *operatorsv1alpha1.ClusterServiceVersion) bool {
	owner := informers.OwnerID(csv.Namespace, csv.Name)
	return lineage.Began(csv) ||
		labelled(r.Caches.Deployments.OfOwner(owner), csv) || labelled(r.Caches.Services.OfOwner(owner), csv) ||
		labelled(r.Caches.Validating.OfOwner(owner), csv) || labelled(r.Caches.Mutating.OfOwner(owner), csv) ||
		labelled(r.Caches.APIServices.OfOwner(owner), csv)
}

func labelled[T drift.Object](objects []T, csv *operatorsv1alpha1.ClusterServiceVersion) bool {
	return slices.ContainsFunc(objects, func(o T) bool { return csvspec.HasOwnerLabels(o, csv) })
}

// SuccessorOf returns the version that has started to replace this one, even if it is being deleted; or nil.
func (r *Index) SuccessorOf(l lineage.Lineage) *operatorsv1alpha1.ClusterServiceVersion {
	for _, newer := range slices.Backward(l.Newer) {
		if r.Began(newer) {
			return newer
		}
	}
	return nil
}

// UpgradeOf returns the facts about other versions for the decision about a ClusterServiceVersion.
func (r *Index) UpgradeOf(csv *operatorsv1alpha1.ClusterServiceVersion, l lineage.Lineage, group *operatorsv1.OperatorGroup) rollout.Upgrade {
	u := rollout.Upgrade{
		From:               l.Older,
		Started:            r.Began(csv),
		NotReady:           lineage.NotReady(csv, l),
		ReplacementUnknown: !lineage.Announced(csv, l),
	}
	for _, newer := range l.Newer {
		if newer.DeletionTimestamp == nil {
			u.ReplacedBy = newer.Name
			break
		}
	}
	u.FailForward = group != nil && group.UpgradeStrategy() == operatorsv1.UpgradeStrategyUnsafeFailForward
	return u
}
