package rollout

import (
	"slices"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install"
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
	// Nudge annotates a pod, so that its kubelet looks at its volumes.
	Nudge Verb = "nudge"
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
	// Desired is what the API server's answer is compared with; nil where it is not.
	Desired Object
	// Repeated is set when the manager's latest write sent the same, or created the object:
	// somebody undid it.
	Repeated bool
	// Rehearse is set when admission may be what made Live differ, and no write of this process
	// shows whether it is: a dry run does.
	Rehearse bool
	// DryRun is set on such a step when it is rehearsed.
	DryRun bool
}

// Key is the key of the step's object.
func (s Step) Key() string { return KeyOf(s.Object) }

// KeyOf names an object for people and for maps: "Service operators/manager-service".
func KeyOf(o Object) string {
	name := o.GetName()
	if o.GetNamespace() != "" {
		name = o.GetNamespace() + "/" + name
	}
	return kindOf(o) + " " + name
}

// kindOf is the kind of an object, which objects from a cache do not say themselves.
func kindOf(o Object) string {
	if foreign, ok := o.(*unstructured.Unstructured); ok {
		return foreign.GetKind()
	}
	return typeOf(o).Kind
}

// typeOf is the version and kind of an object, by its Go type.
func typeOf(o Object) schema.GroupVersionKind {
	switch o := o.(type) {
	case *unstructured.Unstructured:
		return o.GroupVersionKind()
	case *apiextensionsv1.CustomResourceDefinition:
		return apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition")
	case *apiregistrationv1.APIService:
		return apiregistrationv1.SchemeGroupVersion.WithKind("APIService")
	}
	kinds, _, err := scheme.Scheme.ObjectKinds(o)
	if err != nil {
		panic(err) // every kind that is rolled out is built in
	}
	return kinds[0]
}

// Kind is the kind of the step's object.
func (s Step) Kind() string { return kindOf(s.Object) }

// Registers reports whether the step writes what makes API servers call webhooks. No other step
// relies on it: whoever waits for it reads it live.
func (s Step) Registers() bool {
	return s.Verb == Convert || s.Verb != Delete && IsRegistration(s.Object)
}

// Repairs reports whether the step undoes what somebody else did: a field that another
// manager wrote last, what was written before and is otherwise now, or a registration that was
// there before and is gone. One that is deleted again before the status tells of it is known by
// its record.
func (s Step) Repairs(previous managerv1alpha1.WebhookRolloutStatus, contests map[string]Contest) bool {
	switch {
	case s.Verb == Delete, s.Verb == Nudge:
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
	haveNamespace, have := install.ConvertedBy(s.Live.(*apiextensionsv1.CustomResourceDefinition))
	wantNamespace, want := install.ConvertedBy(s.Object.(*apiextensionsv1.CustomResourceDefinition))
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
	case s.Verb == Nudge:
		return "serves another certificate than it is given"
	case s.Live == nil:
		return "absent"
	default:
		return "differs in " + strings.Join(s.Drift.Fields, ", ")
	}
}

// exclusive are the parts of an object where no other client has anything to add.
func exclusive(o Object) []string {
	switch o.(type) {
	case *admissionregistrationv1.ValidatingWebhookConfiguration, *admissionregistrationv1.MutatingWebhookConfiguration:
		return []string{".webhooks"}
	case *apiregistrationv1.APIService:
		return []string{".spec"}
	default:
		return nil
	}
}

// stepTo is the write that makes live be as desired; ok is false when it is so
// already, when admission made it what it is (see Write), or when another client holds the object
// (see Contest).
func stepTo(desired, live Object, o Observed, now time.Time) (step Step, ok bool) {
	if live == nil {
		return o.unlessHeld(Step{Verb: Create, Object: desired, Desired: desired}, now)
	}
	if o.Made[KeyOf(desired)] {
		return Step{}, false
	}
	scaled := atScaleOf(live, desired)
	compared := compare(scaled, live, exclusive(desired)...)
	drift := compared.drift()
	if drift.None() || o.Writes[KeyOf(desired)].accepts(desired, live, compared) {
		return Step{Object: desired, Drift: drift}, false
	}
	step = Step{Verb: Apply, Object: asSeen(scaled, live), Live: live, Drift: drift, Desired: desired}
	if applyFallsShort(scaled, drift) {
		step.Verb, step.Object = Update, replacement(scaled, live)
	}
	_, known := o.Writes[step.Key()]
	step.Rehearse = !known && drift.By == ""
	return o.unlessHeld(step, now)
}

// unlessHeld adds to a step what the manager's latest write to the same object shows; ok is
// false when another client holds the object.
func (o Observed) unlessHeld(step Step, now time.Time) (_ Step, ok bool) {
	last, known := o.Writes[step.Key()]
	step.Repeated = known && (step.Verb == Create || last.repeatedBy(step.Desired, step.Live))
	switch {
	case !step.Repeated || step.Drift.By != "":
	case len(last.refused) > 0:
		step.Drift.By = admission
	case step.Verb == Create && IsRegistration(step.Object), step.Verb == Convert && step.reconverts():
	default:
		step.Drift.By = anybody
	}
	return step, !o.Contests[step.Key()].holds(step, now)
}

// atScaleOf is a desired object with the number of replicas that it is to have now.
func atScaleOf(live, desired Object) Object {
	if deployment, ok := desired.(*appsv1.Deployment); ok {
		return scaled(deployment, live.(*appsv1.Deployment))
	}
	return desired
}

// asSeen is a desired object that can be applied over the live one as it was seen, and
// over no other, where it takes trust away: whoever sees more may have added some.
func asSeen(desired, live Object) Object {
	if len(exclusive(desired)) == 0 {
		return desired
	}
	bound := desired.DeepCopyObject().(Object)
	bound.SetResourceVersion(live.GetResourceVersion())
	return bound
}

// applyFallsShort tells where a write has to replace. Bundles list a port or a
// variable twice in their Deployments, which apply refuses and update accepts; and
// a field that another client added, or that the manager did not apply, stays under apply.
func applyFallsShort(desired Object, drift Drift) bool {
	_, deployment := desired.(*appsv1.Deployment)
	return deployment || drift.Stuck || slices.ContainsFunc(drift.Strays, func(stray string) bool {
		return slices.ContainsFunc(exclusive(desired), func(part string) bool { return strings.HasPrefix("."+stray, part) })
	})
}

// lookUp finds an object by name; nil when it is absent.
func lookUp[T Object](objects map[string]T, name string) Object {
	if o, ok := objects[name]; ok {
		return o
	}
	return nil
}
