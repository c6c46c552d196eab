package versions

import (
	"slices"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/lineage"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/phase"
)

// LineageOf returns the other versions of an operator.
func (r *Index) LineageOf(csv *operatorsv1alpha1.ClusterServiceVersion) lineage.Lineage {
	return lineage.Of(csv, r.relativesIn(csv.Namespace))
}

// relativesIn returns a reader of the versions in a namespace.
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

// adoptedFrom returns the versions that still own a Deployment that a ClusterServiceVersion has
// adopted.
func (r *Index) adoptedFrom(csv *operatorsv1alpha1.ClusterServiceVersion) (versions []*operatorsv1alpha1.ClusterServiceVersion) {
	for _, d := range r.Caches.Deployments.OfOwner(informers.OwnerID(csv.Namespace, csv.Name)) {
		if !csvspec.OwnedBy(d, csv) {
			continue
		}
		for _, other := range r.coOwners(d, csv) {
			if r.recordsUpgrade(other, csv) {
				versions = append(versions, other)
			}
		}
	}
	return versions
}

// adoptedBy returns the versions that have adopted a Deployment that a ClusterServiceVersion still
// owns.
func (r *Index) adoptedBy(csv *operatorsv1alpha1.ClusterServiceVersion) (versions []*operatorsv1alpha1.ClusterServiceVersion) {
	for _, d := range r.Caches.Deployments.OfOwner(informers.OwnerID(csv.Namespace, csv.Name)) {
		if !csvspec.Owns(csv, d) {
			continue
		}
		for _, other := range r.coOwners(d, csv) {
			if csvspec.HasOwnerLabels(d, other) && r.recordsUpgrade(csv, other) {
				versions = append(versions, other)
			}
		}
	}
	return versions
}

// recordsUpgrade reports whether the manager has recorded that a version replaces an older one: in
// the WebhookRollout of the newer one, and in the phase of the older one. Owner references alone
// are no proof: every client that may edit a Deployment may write them. The WebhookRollout alone is
// no proof either: a client that may write its status may not be allowed to write the older
// ClusterServiceVersion.
func (r *Index) recordsUpgrade(older, newer *operatorsv1alpha1.ClusterServiceVersion) bool {
	current := r.Caches.Rollouts.Get(newer.Namespace, newer.Name)
	return phase.IsReplaced(older.Status.Phase) &&
		current != nil && current.Status.Upgrade != nil && slices.Contains(current.Status.Upgrade.From, older.Name)
}

// coOwners returns the other ClusterServiceVersions that own an object, by uid.
func (r *Index) coOwners(o drift.Object, csv *operatorsv1alpha1.ClusterServiceVersion) (others []*operatorsv1alpha1.ClusterServiceVersion) {
	for _, reference := range o.GetOwnerReferences() {
		other := r.Caches.CSVs.Get(o.GetNamespace(), reference.Name)
		if other != nil && other.UID == reference.UID && other.Name != csv.Name {
			others = append(others, other)
		}
	}
	return others
}

// Began reports whether a version has started to replace the previous ones: by its phase, or
// because it owns an object, in any phase.
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

// SuccessorOf returns the version that has started to replace a ClusterServiceVersion; nil if there
// is none. A version that is being deleted counts until it is deleted.
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
