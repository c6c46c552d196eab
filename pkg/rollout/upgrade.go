package rollout

import (
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/failopen"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/registration"
)

// Upgrade describes the other versions of an operator. It is empty without any.
type Upgrade struct {
	// From are the existing versions that it replaces, the nearest first.
	From []*operatorsv1alpha1.ClusterServiceVersion
	// Started is set once it has adopted their webhooks. Only its deletion reverts that.
	Started bool
	// NotUpgradeable is the message of an operator that must not be replaced now.
	NotUpgradeable string
	// NotReady is why a version cannot be replaced yet.
	NotReady string
	// ReplacementUnknown is set until the phase of a replaced version shows that it is replaced.
	ReplacementUnknown bool
	ReplacedBy         string
	// FailForward allows the replacement of a failed version.
	FailForward bool
}

// Waits reports whether the upgrade cannot start yet.
func (u Upgrade) Waits() bool {
	return !u.Started && len(u.From) > 0 && (u.NotUpgradeable != "" || u.NotReady != "" || u.ReplacementUnknown)
}

// isPending reports whether the webhooks still belong to the previous version, which is reconciled, too.
func (u Upgrade) isPending() bool { return len(u.From) > 0 && !u.Started }

// Ends reports whether an object ends with the previous versions, which are its only owners.
func (u Upgrade) Ends(o metav1.Object) bool {
	owners := o.GetOwnerReferences()
	return len(owners) > 0 && !slices.ContainsFunc(owners, func(owner metav1.OwnerReference) bool {
		return !slices.ContainsFunc(u.From, func(csv *operatorsv1alpha1.ClusterServiceVersion) bool { return csv.UID == owner.UID })
	})
}

func (u Upgrade) names() []string {
	return lists.Map(u.From, func(older *operatorsv1alpha1.ClusterServiceVersion) string { return older.Name })
}

// Replaced returns the status of a version whose webhooks belong to a newer one. It keeps the records of openings, in case that the
// newer version is deleted.
func Replaced(csv *operatorsv1alpha1.ClusterServiceVersion, newer string, previous managerv1alpha1.WebhookRolloutStatus, now time.Time) managerv1alpha1.WebhookRolloutStatus {
	status := withoutWebhooks(csv, previous, now, metav1.Condition{
		Type: managerv1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: string(operatorsv1alpha1.CSVReasonBeingReplaced),
		Message: newer + " has adopted its webhooks",
	})
	status.KeptOpenings = failopen.RecordsOf(previous).Kept()
	return status
}

// Unregistered is the status of a deleted version without registrations. why is what the API server refuses.
func Unregistered(csv *operatorsv1alpha1.ClusterServiceVersion, why string, previous managerv1alpha1.WebhookRolloutStatus, now time.Time) managerv1alpha1.WebhookRolloutStatus {
	const refused = managerv1alpha1.ConditionUnregistrationRefused
	return withoutWebhooks(csv, previous, now,
		metav1.Condition{Type: managerv1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: refused, Message: why},
		metav1.Condition{Type: refused, Message: why})
}

// withoutWebhooks returns a status with these conditions alone.
func withoutWebhooks(csv *operatorsv1alpha1.ClusterServiceVersion, previous managerv1alpha1.WebhookRolloutStatus, now time.Time, conditions ...metav1.Condition) managerv1alpha1.WebhookRolloutStatus {
	status := managerv1alpha1.WebhookRolloutStatus{ObservedGeneration: csv.Generation, Provider: previous.Provider, Created: previous.Created}
	for _, c := range conditions {
		if before := meta.FindStatusCondition(previous.Conditions, c.Type); before != nil {
			status.Conditions = append(status.Conditions, *before)
		}
		SetCondition(&status, c, csv.Generation, now)
	}
	return status
}

// olderOwner returns the previous version that a live object belongs to; nil for none.
func (u Upgrade) olderOwner(live drift.Object) *operatorsv1alpha1.ClusterServiceVersion {
	return lists.First(u.From, func(older *operatorsv1alpha1.ClusterServiceVersion) bool { return csvspec.HasOwnerLabels(live, older) })
}

// changeOf also returns the Deployment that serves the registration now.
func (f *facts) changeOf(older *operatorsv1alpha1.ClusterServiceVersion, live registration.Registration) (render.Change, string) {
	for _, spec := range csvspec.Deployments(older) {
		for _, d := range csvspec.Descriptions(older, spec.Name) {
			if csvspec.IdentityOf(d).Registers(live.Kind, live.Object) {
				return f.changesFrom(older)[csvspec.IdentityOf(d)], d.DeploymentName
			}
		}
	}
	return render.Removed, ""
}

// Each call of render.Changes renders all webhooks of both versions.
func (f *facts) changesFrom(older *operatorsv1alpha1.ClusterServiceVersion) map[csvspec.Identity]render.Change {
	if f.changes == nil {
		f.changes = map[string]map[csvspec.Identity]render.Change{}
	}
	changes, known := f.changes[older.Name]
	if !known {
		changes = render.Changes(older, f.CSV)
		f.changes[older.Name] = changes
	}
	return changes
}

// notStarted reports whether this version has not rolled out a Deployment yet.
func (u Upgrade) notStarted(live *appsv1.Deployment) bool {
	return live == nil || u.olderOwner(live) != nil
}

// lost reports whether the Deployment of a previous version does not exist, so nothing serves its webhooks.
func (u Upgrade) lost(name string, live *appsv1.Deployment) bool {
	return live == nil && slices.ContainsFunc(u.From, func(older *operatorsv1alpha1.ClusterServiceVersion) bool { return csvspec.HasDeployment(older, name) })
}

// The object must exist until all versions that own it are deleted.
func (u Upgrade) withLiveOwners(desired, live drift.Object) drift.Object {
	if live == nil || len(desired.GetOwnerReferences()) == 0 {
		return desired
	}
	owners := slices.Clone(desired.GetOwnerReferences())
	for _, owner := range live.GetOwnerReferences() {
		if slices.ContainsFunc(u.From, func(c *operatorsv1alpha1.ClusterServiceVersion) bool { return c.UID == owner.UID }) {
			owners = append(owners, owner)
		}
	}
	if len(owners) == len(desired.GetOwnerReferences()) {
		return desired
	}
	shared := desired.DeepCopyObject().(drift.Object)
	shared.SetOwnerReferences(owners)
	return shared
}

// The selector of a Deployment cannot be changed, and its Service must not select other pods.
func (p *planner) selectorConflict() string {
	for _, d := range p.Desired.Deployments {
		live := p.Observed.Deployments[d.Object.Name]
		if live != nil && !equality.Semantic.DeepEqual(live.Spec.Selector, d.Object.Spec.Selector) {
			return fmt.Sprintf("deployment %s exists with another selector, which cannot be changed: give the Deployment of %s another name, or the same selector", d.Object.Name, p.CSV.Name)
		}
	}
	return ""
}

func (f *facts) lastUnregistrationTime() time.Time {
	if u := f.Previous.Upgrade; u != nil && u.LastUnregistrationTime != nil && len(f.Upgrade.From) > 0 {
		return u.LastUnregistrationTime.Time
	}
	return time.Time{}
}
