package rollout

import (
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/conversion"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/phase"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/registration"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/workload"
)

// Upgrade is how a ClusterServiceVersion stands to other versions of its operator. It is
// empty for one that stands alone.
type Upgrade struct {
	// From are the versions that it replaces and that are still there, the nearest first.
	From []*operatorsv1alpha1.ClusterServiceVersion
	// Began is set once it has taken over from them: then there is no going back but by its
	// own deletion.
	Began bool
	// NotUpgradeable is what the operator says that does not want to be replaced now.
	NotUpgradeable string
	// NotReady is why a version cannot be replaced yet.
	NotReady string
	// Unannounced is set while a replaced version has yet to learn of its being replaced.
	Unannounced bool
	// ReplacedBy is the name of the version that replaces this one.
	ReplacedBy string
	// FailForward lets a version be replaced that has failed.
	FailForward bool
}

// Waits tells whether it is too early to look at what the new version wants.
func (u Upgrade) Waits() bool {
	return !u.Began && len(u.From) > 0 && (u.NotUpgradeable != "" || u.NotReady != "" || u.Unannounced)
}

// mayBegin tells whether the version may take over from those that it replaces, and
// notes what speaks against it.
func (p *planner) mayBegin() bool {
	if len(p.Upgrade.From) == 0 || p.Upgrade.Began {
		return true
	}
	if p.Upgrade.Waits() {
		return false
	}
	p.forbidden = p.reselected()
	if p.forbidden == "" {
		ended := p.endedConversions()
		p.plan.Count, p.inUse, p.forbidden = ended.Count, ended.InUse, ended.InUse
	}
	return p.forbidden == "" && len(p.plan.Count) == 0
}

// reselected says which Deployment the new version cannot take over: the selector of
// one cannot be changed, and to change that of its Service alone would cut it off.
func (p *planner) reselected() string {
	for _, d := range p.Desired.Deployments {
		live := p.Observed.Deployments[d.Object.Name]
		if live != nil && !equality.Semantic.DeepEqual(live.Spec.Selector, d.Object.Spec.Selector) {
			return fmt.Sprintf("deployment %s exists with another selector, which cannot be changed: give the Deployment of %s another name, or the same selector", d.Object.Name, p.CSV.Name)
		}
	}
	return ""
}

// theirs is the older version that has a live object in hand; nil when none has.
func (p *planner) theirs(live drift.Object) *operatorsv1alpha1.ClusterServiceVersion {
	for _, older := range p.Upgrade.From {
		if csvspec.HasOwnerLabels(live, older) {
			return older
		}
	}
	return nil
}

// changeOf is what the upgrade means for a live registration of an older version, and
// the Deployment that serves it now.
func (p *planner) changeOf(older *operatorsv1alpha1.ClusterServiceVersion, live registration.Registration) (render.Change, string) {
	for _, spec := range csvspec.Deployments(older) {
		for _, d := range csvspec.Descriptions(older, spec.Name) {
			if csvspec.IdentityOf(d).Registers(live.Kind, live.Object) {
				return render.Changes(older, p.CSV)[csvspec.IdentityOf(d)], d.DeploymentName
			}
		}
	}
	return render.Removed, ""
}

// clear takes out of service, before a Deployment is rolled out, what is called in
// another way afterwards. It tells whether the Deployment has to wait until every API
// server has learned of it.
func (p *planner) clear(d render.Deployment) bool {
	for _, live := range p.Observed.registrations() {
		older := p.theirs(live.Object)
		if older == nil {
			continue
		}
		change, servedBy := p.changeOf(older, live)
		if change == render.Changed && (servedBy == d.Object.Name || serves(d, live)) {
			p.unregister(live)
		}
	}
	return p.unsettled()
}

func serves(d render.Deployment, live registration.Registration) bool {
	return slices.ContainsFunc(d.Webhooks, func(w render.Webhook) bool {
		return w.Description.Type == live.Kind && registration.Of(w).GetName() == live.Object.GetName()
	})
}

func (p *planner) unregister(live registration.Registration) {
	if p.take(Step{Verb: Delete, Object: live.Object, Live: live.Object}) {
		p.unregistered = p.now
	}
}

// unsettled tells whether a webhook was taken out of service so lately that some API
// server may still call it.
func (p *planner) unsettled() bool {
	if p.Policy.Gate == GateAvailable || p.unregistered.IsZero() {
		return false
	}
	settled := p.unregistered.Add(p.Policy.Settle + time.Second)
	p.lookAgain(settled)
	return p.now.Before(settled)
}

// lastUnregistered is when the upgrade last took a webhook out of service.
func (p *planner) lastUnregistered() time.Time {
	if u := p.Previous.Upgrade; u != nil && u.LastUnregistered != nil && len(p.Upgrade.From) > 0 {
		return u.LastUnregistered.Time
	}
	return time.Time{}
}

// inherit decides about a webhook that an older version registered and that is still so.
func (p *planner) inherit(d render.Deployment, w render.Webhook, live drift.Object, backend workload.Progress) (view webhookView, decided bool) {
	older := p.theirs(live)
	if older == nil {
		return webhookView{}, false
	}
	change, servedBy := p.changeOf(older, registration.Registration{Kind: w.Description.Type, Object: live})
	switch change {
	case render.Moved:
		if reason, message := p.obstacle(d, w, backend); reason != "" {
			message = fmt.Sprintf("deployment %s of %s serves it until deployment %s does: %s", servedBy, older.Name, d.Object.Name, message)
			return waiting(w, reason, message), true
		}
		p.keep(registration.Of(w), live)
		return waiting(w, "Registering", "the registration is being switched"), true
	case render.Changed:
		return waiting(w, "DeploymentNotAvailable", fmt.Sprintf("it is called in another way than in %s, and registered again when deployment %s serves it", older.Name, d.Object.Name)), true
	default:
		return webhookView{}, false
	}
}

// handedOver is when a registration came to be as it is: one that was switched in place
// is older than that.
func (p *planner) handedOver(w render.Webhook, created time.Time) time.Time {
	if len(p.Upgrade.From) == 0 {
		return created
	}
	before := p.before(w.Description)
	if before == nil || before.Since == nil || !isRegistered(*before) {
		return p.now
	}
	return workload.Later(created, wholeSecond(before.Since.Time))
}

// sharing is a desired object with the owners of it that are still there: whichever
// version is deleted first, the object has to stay for the other.
func (p *planner) sharing(desired, live drift.Object) drift.Object {
	if live == nil || len(desired.GetOwnerReferences()) == 0 {
		return desired
	}
	owners := slices.Clone(desired.GetOwnerReferences())
	for _, owner := range live.GetOwnerReferences() {
		if slices.ContainsFunc(p.Upgrade.From, func(c *operatorsv1alpha1.ClusterServiceVersion) bool { return c.UID == owner.UID }) {
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

// startsAnew tells whether a Deployment has yet to be started by this version.
func (p *planner) startsAnew(live *appsv1.Deployment) bool {
	return live == nil || p.theirs(live) != nil
}

// endedConversions are those that older versions began and this one does not go on
// with.
func (p *planner) endedConversions() conversion.End {
	var stale []*apiextensionsv1.CustomResourceDefinition
	for _, crd := range p.Observed.CRDs {
		if csvspec.Converts(p.CSV, crd.Name) < 0 {
			stale = append(stale, crd)
		}
	}
	return conversion.EndAll(p.CSV.Namespace, p.Observed.serviceNames(), stale, p.Observed.Objects, p.CSV.Annotations[wellknown.AnnotationForceConversion] == "true")
}

// reportUpgrade says how far the takeover is.
func (p *planner) reportUpgrade(status *managerv1alpha1.WebhookRolloutStatus) {
	if len(p.Upgrade.From) == 0 {
		return
	}
	status.Upgrade = &managerv1alpha1.UpgradeStatus{}
	for _, older := range p.Upgrade.From {
		status.Upgrade.From = append(status.Upgrade.From, older.Name)
	}
	if !p.unregistered.IsZero() {
		at := metav1.NewTime(p.unregistered)
		status.Upgrade.LastUnregistered = &at
	}
}

// Replaced is what a WebhookRollout says of a version whose webhooks a newer one has in
// hand.
func Replaced(csv *operatorsv1alpha1.ClusterServiceVersion, newer string, previous managerv1alpha1.WebhookRolloutStatus, now time.Time) managerv1alpha1.WebhookRolloutStatus {
	status := managerv1alpha1.WebhookRolloutStatus{ObservedGeneration: csv.Generation, Provider: previous.Provider, Created: previous.Created}
	ready := metav1.Condition{
		Type: managerv1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: string(operatorsv1alpha1.CSVReasonBeingReplaced),
		Message: newer + " has taken over its webhooks", ObservedGeneration: csv.Generation, LastTransitionTime: metav1.NewTime(now),
	}
	if before := meta.FindStatusCondition(previous.Conditions, ready.Type); before != nil {
		status.Conditions = append(status.Conditions, *before)
	}
	meta.SetStatusCondition(&status.Conditions, ready)
	return status
}

// upgradeFacts are what the phase depends on of what the other versions say.
func (p *planner) upgradeFacts(f *phase.Facts) {
	f.ReplacedBy, f.FailForward = p.Upgrade.ReplacedBy, p.Upgrade.FailForward
	if p.Upgrade.Began || len(p.Upgrade.From) == 0 {
		return
	}
	f.NotUpgradeable = p.Upgrade.NotUpgradeable
	f.NotReady = p.Upgrade.NotReady
	if f.NotReady == "" && p.Upgrade.Unannounced {
		var older []string
		for _, c := range p.Upgrade.From {
			older = append(older, c.Name)
		}
		f.NotReady = "waits for " + strings.Join(older, ", ") + " to be ready for replacement"
	}
	if p.forbidden != "" {
		f.Unmet = p.forbidden
	}
}
