package rollout

import (
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// Verb is what to do with an object.
type Verb string

// The verbs, and what each is right for.
const (
	// Create is for an object that is not there. It fails where somebody else's is, which
	// an apply would silently take over.
	Create Verb = "create"
	// Apply makes the fields that we own be as desired, and leaves all others.
	Apply Verb = "apply"
	// Update replaces: for objects whose content apply refuses, or to take fields away
	// that others put in.
	Update Verb = "update"
	// Convert writes spec.conversion of a CustomResourceDefinition, and nothing else of
	// it: the definition is the bundle's.
	Convert Verb = "convert"
	// ResyncVolumes annotates a pod, so that its kubelet looks at its volumes.
	ResyncVolumes Verb = "resync"
	// Delete removes.
	Delete Verb = "delete"
)

// Step is one write.
type Step struct {
	Verb   Verb
	Object drift.Object
	// Live is what was observed, nil when absent: the base of an update.
	Live drift.Object
	// Drift says what is wrong with Live.
	Drift drift.Drift
	// Desired is what the API server's answer is compared with; nil where it is not.
	Desired drift.Object
	// Repeated is set when the manager's latest write sent the same, or created the object:
	// somebody undid it.
	Repeated bool
	// NeedsDryRun is set when admission may be what made Live differ, and no write of this process
	// shows whether it is: a dry run does.
	NeedsDryRun bool
	// DryRun is set on such a step when it is rehearsed.
	DryRun bool
}

// Key is the key of the step's object.
func (s Step) Key() string { return drift.KeyOf(s.Object) }

// Kind is the kind of the step's object.
func (s Step) Kind() string { return drift.KindOf(s.Object) }

// Registers reports whether the step writes what makes API servers call webhooks. No other step
// relies on it: whoever waits for it reads it live.
func (s Step) Registers() bool {
	return s.Verb == Convert || s.Verb != Delete && drift.IsRegistration(s.Object)
}

// Repairs reports whether the step undoes what somebody else did: a field that another
// manager wrote last, what was written before and is otherwise now, or a registration that was
// there before and is gone. One that is deleted again before the status tells of it is known by
// its record. The deletion of what another client created counts, too.
func (s Step) Repairs(previous managerv1alpha1.WebhookRolloutStatus, contests map[string]drift.Contest) bool {
	switch {
	case s.Verb == Delete:
		return s.Drift.By == drift.ByCreation
	case s.Verb == ResyncVolumes:
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
	default: // the next certificate of a Secret
		return false
	}
}

// registers tells whether a status speaks of a live registration of that name.
func registers(status managerv1alpha1.WebhookRolloutStatus, configuration string) bool {
	for _, d := range status.Deployments {
		for _, w := range d.Registrations() {
			if w.Configuration == configuration {
				return true
			}
		}
	}
	return false
}

// reconverts tells whether the definition is converted by something else, or nothing.
func (s Step) reconverts() bool {
	haveNamespace, have := owners.ConvertedBy(s.Live.(*apiextensionsv1.CustomResourceDefinition))
	wantNamespace, want := owners.ConvertedBy(s.Object.(*apiextensionsv1.CustomResourceDefinition))
	return haveNamespace != wantNamespace || have != want
}

// registersCRD tells whether a status speaks of a live conversion of that definition.
func registersCRD(status managerv1alpha1.WebhookRolloutStatus, crd string) bool {
	for _, d := range status.Deployments {
		for _, w := range d.Webhooks {
			if isRegistered(w) && slices.Contains(w.CRDs, crd) {
				return true
			}
		}
	}
	return false
}

// isRegistered tells the states of a webhook that the API server calls.
func isRegistered(w managerv1alpha1.WebhookStatus) bool {
	return w.State == managerv1alpha1.WebhookRegistered || w.State == managerv1alpha1.WebhookUnreachable
}

// Why says in a few words what made the step necessary.
func (s Step) Why() string {
	_, deployment := s.Object.(*appsv1.Deployment)
	switch {
	case s.Verb == Delete && deployment:
		return "yields to another operator"
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

// stepTo is the write that makes live be as desired; ok is false when it is so
// already, when admission made it what it is (see Write), or when another client holds the object
// (see Contest).
func stepTo(desired, live drift.Object, o Observed, now time.Time) (step Step, ok bool) {
	if live == nil {
		return o.unlessContested(Step{Verb: Create, Object: desired, Desired: desired}, now)
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
	return o.unlessContested(step, now)
}

// unlessContested adds to a step what the manager's latest write to the same object shows; ok is
// false when another client holds the object.
func (o Observed) unlessContested(step Step, now time.Time) (_ Step, ok bool) {
	last, known := o.Writes[step.Key()]
	step.Repeated = known && (step.Verb == Create || last.RepeatedBy(step.Desired, step.Live))
	switch {
	case !step.Repeated || step.Drift.By != "":
	case last.RefusesAdmission():
		step.Drift.By = drift.ByAdmission
	case step.Verb == Create && drift.IsRegistration(step.Object), step.Verb == Convert && step.reconverts():
	default:
		step.Drift.By = drift.ByAnyClient
	}
	return step, !o.Contests[step.Key()].Blocks(step.Object, step.Live, step.Drift, now)
}

// deletion returns the step that deletes an object; ok is false when another client creates the object
// again each time. What the manager created itself undoes no deletion.
func (o Observed) deletion(live drift.Object, now time.Time) (step Step, ok bool) {
	step = Step{Verb: Delete, Object: live, Live: live}
	if last, known := o.Writes[step.Key()]; !known || !last.Wrote(live) {
		step.Drift.By = drift.ByCreation
	}
	return step, !o.Contests[step.Key()].Blocks(live, live, step.Drift, now)
}

// lookUp finds an object by name; nil when it is absent.
func lookUp[T drift.Object](objects map[string]T, name string) drift.Object {
	if o, ok := objects[name]; ok {
		return o
	}
	return nil
}
