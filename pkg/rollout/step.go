package rollout

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/webhookconfig"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// Verb is the kind of a write.
type Verb string

const (
	// Create fails if another object has the name. An apply would adopt that object.
	Create Verb = "create"
	// Apply sets the manager's fields and keeps all others.
	Apply Verb = "apply"
	// Update replaces an object: for content that apply refuses, and to remove fields of others.
	Update Verb = "update"
	// Convert writes spec.conversion of a definition, which belongs to the bundle, and nothing else.
	Convert Verb = "convert"
	// Patch writes Step.Fields of another owner's object, or else the conditions of an OperatorCondition.
	Patch Verb = "patch"
	// ResyncVolumes annotates a pod, so that its kubelet re-syncs its volumes.
	ResyncVolumes Verb = "resync"
	// Delete deletes an object.
	Delete Verb = "delete"
)

// Step is one write.
type Step struct {
	Verb   Verb
	Object drift.Object
	// Live is the observed object, the base of an update; nil if absent.
	Live  drift.Object
	Drift drift.Drift
	// Desired is compared with the API server's answer, if it is set.
	Desired drift.Object
	// Repeated is set if another client reverted the same write, or deleted the object.
	Repeated bool
	// NeedsDryRun is set if admission may have changed Live, and no write of this process shows it.
	NeedsDryRun bool
	// DryRun makes the API server answer without writing. Only Apply and Update support it.
	DryRun bool
	// Fields are the fields that a Patch writes, with their values.
	Fields map[string]string
}

// WriteSecret returns the write of a certificate. A desired Secret with a resourceVersion replaces the live one.
func WriteSecret(desired, live *corev1.Secret) *Step {
	if desired.ResourceVersion == "" {
		return &Step{Verb: Create, Object: desired, Desired: desired}
	}
	field := "metadata"
	if !maps.EqualFunc(desired.Data, live.Data, bytes.Equal) {
		field = "data"
	}
	return &Step{Verb: Update, Object: desired, Live: live, Drift: drift.Drift{Fields: []string{field}}, Desired: desired}
}

// Key identifies the object of the step, or its owner references.
func (s Step) Key() string {
	if o, ok := s.Object.(*metav1.PartialObjectMetadata); ok {
		return OwnersKey(o.Kind, o)
	}
	return drift.KeyOf(s.Object)
}

// OwnersKey identifies the owner references of an object.
func OwnersKey(kind string, o metav1.Object) string {
	return "Owners of " + kind + " " + o.GetNamespace() + "/" + o.GetName()
}

// Kind returns the kind of the object of the step.
func (s Step) Kind() string { return drift.KindOf(s.Object) }

// Registers reports whether the step writes a registration. No other step depends on it.
func (s Step) Registers() bool {
	return s.Verb == Convert || s.Verb != Delete && drift.IsRegistration(s.Object)
}

// IsRepair reports whether the step reverts a change of another client, as the status or a contest shows.
func (s Step) IsRepair(previous managerv1alpha1.WebhookRolloutStatus, contests map[string]drift.Contest) bool {
	switch {
	case s.Verb == Delete:
		return s.Drift.By == drift.ByCreation || s.Drift.By == drift.ByConflict
	case s.Verb == ResyncVolumes, s.Verb == Patch:
		return false
	case s.Repeated:
		return true
	case s.Verb == Convert:
		return registersCRD(previous, s.Object.GetName()) && (s.Drift.By != "" || s.reconverts())
	case s.Live != nil:
		return s.Drift.By != ""
	case s.Verb == Create:
		_, again := contests[s.Key()]
		return again || registers(previous, s.Object.GetName())
	default:
		return false
	}
}

func registers(status managerv1alpha1.WebhookRolloutStatus, configuration string) bool {
	return anyWebhook(status, func(w managerv1alpha1.WebhookStatus) bool { return w.Configuration == configuration })
}

func (s Step) reconverts() bool {
	haveNamespace, have := owners.ConvertedBy(s.Live.(*apiextensionsv1.CustomResourceDefinition))
	wantNamespace, want := owners.ConvertedBy(s.Object.(*apiextensionsv1.CustomResourceDefinition))
	return haveNamespace != wantNamespace || have != want
}

func registersCRD(status managerv1alpha1.WebhookRolloutStatus, crd string) bool {
	return anyWebhook(status, func(w managerv1alpha1.WebhookStatus) bool { return isRegistered(w) && slices.Contains(w.CRDs, crd) })
}

// An APIService counts as a webhook.
func anyWebhook(status managerv1alpha1.WebhookRolloutStatus, is func(managerv1alpha1.WebhookStatus) bool) bool {
	return slices.ContainsFunc(status.Deployments, func(d managerv1alpha1.DeploymentStatus) bool { return slices.ContainsFunc(d.Registrations(), is) })
}

func isRegistered(w managerv1alpha1.WebhookStatus) bool {
	return w.State == managerv1alpha1.WebhookRegistered || w.State == managerv1alpha1.WebhookUnreachable
}

// Closes reports whether the step closes a webhook configuration that is open.
func (s Step) Closes() bool {
	return s.Verb == Update && s.Live != nil && webhookconfig.OpenState(s.Live) != managerv1alpha1.FailOpenClosed && webhookconfig.OpenState(s.Object) == managerv1alpha1.FailOpenClosed
}

// Why returns why the step is necessary, in a few words.
func (s Step) Why() string {
	_, deployment := s.Object.(*appsv1.Deployment)
	switch {
	case s.Verb == Delete && deployment:
		return "yields to another operator"
	case s.Verb == Delete && s.Drift.By == drift.ByAdmission:
		return "admission changed " + strings.Join(s.Drift.Fields, ", ")
	case s.Verb == Delete && s.Drift.By == drift.ByConflict:
		return "another one selects its pods"
	case s.Verb == Delete && !s.Drift.None():
		return "cannot be changed in " + strings.Join(s.Drift.Fields, ", ")
	case s.Verb == Delete:
		return "not declared any more"
	case s.Verb == ResyncVolumes:
		return "serves another certificate than it is given"
	case s.Live == nil:
		return "absent"
	default:
		return "differs in " + strings.Join(s.Drift.Fields, ", ")
	}
}

// ok is false if nothing differs, admission made the difference, or the object was just created.
func (o Observed) stepTo(desired, live drift.Object) (step Step, ok bool) {
	if live == nil {
		return Step{Verb: Create, Object: desired, Desired: desired}, true
	}
	if o.JustCreated[drift.KeyOf(desired)] {
		return Step{}, false
	}
	scaled := drift.WithLiveReplicas(live, desired)
	compared := drift.Compare(scaled, live, drift.ExclusiveFields(desired)...)
	found := compared.Drift()
	if found.None() || o.Writes[drift.KeyOf(desired)].Accepts(desired, live, compared) {
		return Step{Object: desired, Drift: found}, false
	}
	step = Step{Verb: Apply, Object: drift.WithPrecondition(scaled, live), Live: live, Drift: found, Desired: desired}
	if drift.NeedsUpdate(scaled, found) {
		step.Verb, step.Object = Update, drift.Replacement(scaled, live)
	}
	_, known := o.Writes[step.Key()]
	step.NeedsDryRun = !known && found.By == ""
	return step, true
}

// ok is false if the object is contested, or is being deleted: its finalizers keep it, and no other client recreates it.
// A write of single fields has its own record (see drift.FieldContest).
func (o Observed) unlessContested(step Step, now time.Time) (_ Step, ok bool) {
	switch {
	case step.Verb == Delete && step.Object.GetDeletionTimestamp() != nil:
		return step, false
	case step.Verb != Delete && step.Desired == nil:
		return step, true
	}
	last, known := o.Writes[step.Key()]
	step.Repeated = step.Desired != nil && known && (step.Verb == Create || last.RepeatedBy(step.Desired, step.Live))
	step.Drift = undone(step, last, known)
	limited := step.Verb == Delete && (step.Drift.By == drift.ByAdmission || step.Drift.By == drift.ByConflict) // by their creations
	return step, limited || !o.Contests[step.Key()].Blocks(step.Object, step.Live, step.Drift, now)
}

// undone returns the drift of a step with who undid the latest write: the deletion of what the step deletes, or what the
// step writes again. By stays empty if that is no contest.
func undone(step Step, last drift.Write, known bool) drift.Drift {
	found := step.Drift
	switch {
	case found.By == drift.ByAdmission, found.By == drift.ByConflict: // a revocation
	case step.Verb == Delete && !(known && last.Wrote(step.Live)):
		found.By = drift.ByCreation
	case !step.Repeated || found.By != "":
	case last.RefusesAdmission() && step.Verb == Create:
		found, _ = last.Refused()
	case last.RefusesAdmission():
		found.By = drift.ByAdmission
	case step.Verb == Create && drift.IsRegistration(step.Object), step.Verb == Convert && step.reconverts():
	default:
		found.By = drift.ByAnyClient
	}
	return found
}

// lookUp returns an object by name; nil if it is absent.
func lookUp[T drift.Object](objects map[string]T, name string) drift.Object {
	if o, ok := objects[name]; ok {
		return o
	}
	return nil
}
