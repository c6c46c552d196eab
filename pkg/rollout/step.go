package rollout

import (
	"strings"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
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
	// Delete removes.
	Delete Verb = "delete"
)

// Step is one write.
type Step struct {
	Verb   Verb
	Object Object
	// Live is what was observed, nil when absent: the base of an update.
	Live Object
	// Drift says what is wrong with Live.
	Drift Drift
}

// Key is the key of the step's object.
func (s Step) Key() string { return KeyOf(s.Object) }

// KeyOf names an object for people and for maps: "Service operators/manager-service".
func KeyOf(o Object) string {
	name := o.GetName()
	if o.GetNamespace() != "" {
		name = o.GetNamespace() + "/" + name
	}
	return o.GetObjectKind().GroupVersionKind().Kind + " " + name
}

// Why says in a few words what made the step necessary.
func (s Step) Why() string {
	switch {
	case s.Verb == Delete:
		return "not declared any more"
	case s.Live == nil:
		return "absent"
	default:
		return "differs in " + strings.Join(s.Drift.Fields, ", ")
	}
}

// exclusive are the parts of an object where no other client has anything to add.
func exclusive(o Object) []string {
	switch o.(type) {
	case *admissionv1.ValidatingWebhookConfiguration, *admissionv1.MutatingWebhookConfiguration:
		return []string{".webhooks"}
	case *corev1.Service:
		return []string{".spec.selector"}
	default:
		return nil
	}
}

// stepTo is the write that makes live be as desired; ok is false when it is so
// already, or when another client holds the object (see Contest).
func stepTo(desired, live Object, o Observed, now time.Time) (step Step, ok bool) {
	contest := o.Contests[KeyOf(desired)]
	if live == nil {
		return Step{Verb: Create, Object: desired}, !contest.holds("", now)
	}
	drift := DriftOf(desired, live, exclusive(desired)...)
	if drift.None() || contest.holds(drift.By, now) {
		return Step{}, false
	}
	step = Step{Verb: Apply, Object: desired, Live: live, Drift: drift}
	if applyFallsShort(desired, drift) {
		step.Verb = Update
	}
	return step, true
}

// applyFallsShort tells where a write has to replace. Bundles list a port or a
// variable twice in their Deployments, which apply refuses and update accepts; and
// a field that another client added stays under apply.
func applyFallsShort(desired Object, drift Drift) bool {
	_, deployment := desired.(*appsv1.Deployment)
	return deployment || len(exclusive(desired)) > 0 && len(drift.Strays) > 0
}

// lookUp finds an object by name; nil when it is absent.
func lookUp[T Object](objects map[string]T, name string) Object {
	if o, ok := objects[name]; ok {
		return o
	}
	return nil
}
