package audit

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"k8s.io/utils/ptr"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor/explain"
)

// Result is what a webhook does with an object that is sent again.
type Result string

// The results, the worst first.
const (
	// Refused means that the webhook denies the request.
	Refused Result = "Refused"
	// Changed means that the object would be another one after the request.
	Changed Result = "Changed"
	// NotJudged means that the webhook was not asked, or that it did not answer.
	NotJudged Result = "NotJudged"
	// Admitted means that the webhook admits the object as it is.
	Admitted Result = "Admitted"
)

// Replay is the result of the dry runs for one object.
type Replay struct {
	Result  Result `json:"result"`
	Message string `json:"message,omitempty"`
	// Patch is the JSON merge patch from the object to the answer.
	Patch json.RawMessage `json:"patch,omitempty"`
	// Others are other mutating webhooks and policies that see the request: the patch may be theirs.
	Others []string `json:"others,omitempty"`
}

// Worst returns the worst of several results.
func Worst(all []Replay) Replay {
	for _, result := range []Result{Refused, Changed, NotJudged} {
		if i := slices.IndexFunc(all, func(r Replay) bool { return r.Result == result }); i >= 0 {
			return all[i]
		}
	}
	return Replay{Result: Admitted}
}

// Attempt is a dry run that lets a webhook judge an object.
type Attempt struct {
	Operation   admissionregistrationv1.OperationType
	Subresource string
	// NewName reports whether the API server generates a name. Without a new name, the API server calls the webhooks, and
	// answers that the object exists if they admit it: this hides what a mutating webhook changes.
	NewName bool
}

// Attempts returns the dry runs for an object, or why there are none.
func (w Webhook) Attempts(e Entry) (attempts []Attempt, none string) {
	switch effects := ptr.Deref(w.Declared.SideEffects, admissionregistrationv1.SideEffectClassUnknown); effects {
	case admissionregistrationv1.SideEffectClassNone, admissionregistrationv1.SideEffectClassNoneOnDryRun:
	default:
		return nil, fmt.Sprintf("sideEffects of the webhook is %s: API servers refuse dry runs for it", effects)
	}
	for _, c := range e.Changes {
		a := Attempt{Operation: c.Operation, Subresource: c.Subresource}
		switch {
		case c.Operation == admissionregistrationv1.Update:
		case c.Operation == admissionregistrationv1.Create && c.Subresource == "" && w.Mutates() && w.seesUpdates(e):
			a.Operation = admissionregistrationv1.Update
		case c.Operation == admissionregistrationv1.Create && c.Subresource == "":
			a.NewName = w.Mutates()
		default:
			none = strings.TrimSuffix(string(c.Operation)+" of "+c.Subresource, " of ") + " cannot be replayed"
			continue
		}
		if !slices.Contains(attempts, a) {
			attempts = append(attempts, a)
		}
	}
	return attempts, none
}

// seesUpdates reports whether a rule names updates of the resource.
func (w Webhook) seesUpdates(e Entry) bool {
	return slices.ContainsFunc(w.Declared.Rules, func(r admissionregistrationv1.RuleWithOperations) bool {
		update := func(o admissionregistrationv1.OperationType) bool {
			return o == admissionregistrationv1.Update || o == admissionregistrationv1.OperationAll
		}
		resource := func(named string) bool {
			return named == "*" || named == "*/*" || named == e.Resource || named == e.Resource+"/*"
		}
		return includes(r.APIGroups, e.Group) && slices.ContainsFunc(r.Resources, resource) && slices.ContainsFunc(r.Operations, update)
	})
}

// Sent returns the object of the dry run.
func (a Attempt) Sent(stored *unstructured.Unstructured) *unstructured.Unstructured {
	o := stored.DeepCopy()
	o.SetManagedFields(nil)
	if a.Operation == admissionregistrationv1.Update {
		return o
	}
	for _, field := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"} {
		unstructured.RemoveNestedField(o.Object, "metadata", field)
	}
	if a.NewName {
		o.SetGenerateName(o.GetName() + "-")
		o.SetName("")
	}
	return o
}

// Unseen returns why the webhook does not see the dry run; empty if it does. Others are further mutating steps.
func (w Webhook) Unseen(e explain.Explanation) (why string, others []string) {
	why = "the webhook is not registered"
	for _, s := range e.Steps {
		mutates := s.Kind == explain.MutatingWebhook || s.Kind == explain.MutatingPolicy
		switch {
		case s.Object == w.Configuration && s.Name == w.Name && (s.Kind == explain.MutatingWebhook) == w.Mutates():
			if why = ""; s.Verdict != explain.Sees {
				why = fmt.Sprintf("the webhook does not see the dry run (%s): %s", s.Verdict, s.Reason)
			}
		case mutates && s.Verdict != explain.Skipped:
			others = append(others, strings.TrimSuffix(s.Kind+" "+s.Object+", "+s.Name, ", "))
		}
	}
	return why, others
}

// Judge returns what the answer to a dry run means.
func (w Webhook) Judge(a Attempt, sent, answer *unstructured.Unstructured, failed error) Replay {
	switch {
	case failed != nil && strings.Contains(failed.Error(), fmt.Sprintf("admission webhook %q denied the request", w.Name)):
		return Replay{Result: Refused, Message: failed.Error()}
	case apierrors.IsAlreadyExists(failed) && a.Operation == admissionregistrationv1.Create && !a.NewName:
		return Replay{Result: Admitted}
	case failed != nil:
		return Replay{Result: NotJudged, Message: failed.Error()}
	case !w.Mutates():
		return Replay{Result: Admitted}
	}
	patch, err := difference(compared(a, sent), compared(a, answer))
	switch {
	case err != nil:
		return Replay{Result: NotJudged, Message: err.Error()}
	case string(patch) == "{}":
		return Replay{Result: Admitted}
	default:
		return Replay{Result: Changed, Patch: patch}
	}
}

// compared returns an object without the fields that API servers set.
func compared(a Attempt, o *unstructured.Unstructured) *unstructured.Unstructured {
	o = o.DeepCopy()
	fields := []string{"managedFields", "resourceVersion", "generation"}
	if a.Operation == admissionregistrationv1.Create {
		fields = append(fields, "name", "generateName", "uid", "creationTimestamp", "selfLink")
		unstructured.RemoveNestedField(o.Object, "status")
	}
	for _, field := range fields {
		unstructured.RemoveNestedField(o.Object, "metadata", field)
	}
	return o
}

func difference(from, to *unstructured.Unstructured) ([]byte, error) {
	before, err := from.MarshalJSON()
	if err != nil {
		return nil, err
	}
	after, err := to.MarshalJSON()
	if err != nil {
		return nil, err
	}
	return jsonmergepatch.CreateThreeWayJSONMergePatch(before, after, before)
}

// Open returns the webhooks that are open: a dry run would pass them without an answer, too.
func (r Report) Open() []Webhook {
	return slices.DeleteFunc(slices.Clone(r.Webhooks), func(w Webhook) bool { return !w.Open })
}

// Doubt replaces the result Admitted of webhooks that may have been open during the replay: the dry run may have passed without
// an answer. The webhooks are those after the replay, or none if they are not known.
func (r *Report) Doubt(after []Webhook) {
	for i, e := range r.Entries {
		if e.Replay == nil || e.Replay.Result != Admitted {
			continue
		}
		before := r.OfWebhook(e)
		if !slices.ContainsFunc(after, func(w Webhook) bool { return w.isSame(before) && w.stayedClosed(before) }) {
			r.Entries[i].Replay = &Replay{Result: NotJudged, Message: "the webhook may have been open during the replay, so that the dry run passed without an answer: run the command again"}
		}
	}
}

func (w Webhook) isSame(other Webhook) bool {
	return w.Name == other.Name && w.Type == other.Type && w.Namespace == other.Namespace && w.Owner == other.Owner
}

// stayedClosed reports whether the webhook is registered, closed, and has no opening that it did not have before.
func (w Webhook) stayedClosed(before Webhook) bool {
	isNew := func(o managerv1alpha1.Opening) bool {
		return !slices.ContainsFunc(before.Openings, func(known managerv1alpha1.Opening) bool { return known.From.Equal(&o.From) })
	}
	return w.Declared != nil && !w.Open && !slices.ContainsFunc(w.Openings, isNew)
}

// Count returns how many objects have a result of the replay.
func (r Report) Count(result Result) int {
	n := 0
	for _, e := range r.Entries {
		if e.Replay != nil && e.Replay.Result == result {
			n++
		}
	}
	return n
}

// OfWebhook returns the webhook of an entry.
func (r Report) OfWebhook(e Entry) Webhook {
	i := slices.IndexFunc(r.Webhooks, func(w Webhook) bool {
		return w.Name == e.Webhook && w.Type == e.Type && w.Namespace+"/"+w.Owner == e.Owner
	})
	return r.Webhooks[i]
}
