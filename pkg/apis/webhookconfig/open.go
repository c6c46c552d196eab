package webhookconfig

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// openTimeout is how many seconds an API server waits at most for an open webhook.
const openTimeout = 2

// Open changes a closed configuration with one webhook: requests pass that the webhook does not answer. requests is a
// CEL expression; if it is empty, all requests pass. Otherwise, the configuration has two webhooks: the declared one for
// the other requests, and one that fails open.
func Open(o metav1.Object, state managerv1alpha1.FailOpenState, requests string) {
	all := entriesOf(o)
	if len(all) != 1 || state == managerv1alpha1.FailOpenClosed {
		return
	}
	annotate(o, string(state))
	if requests == "" {
		all[0].ignore()
		return
	}
	appendCopy(o)
	all = entriesOf(o)
	all[0].add("!(" + requests + ")")
	*all[1].name = wellknown.OpenWebhookPrefix + *all[0].name
	all[1].add(requests)
	all[1].ignore()
}

// CannotOpen returns why a configuration cannot be opened; empty if it can.
func CannotOpen(o metav1.Object) string {
	const mostConditions = 64 // a limit of the API server
	for _, e := range entriesOf(o) {
		if len(*e.conditions) >= mostConditions {
			return fmt.Sprintf("it has %d matchConditions, and an opening needs one more", len(*e.conditions))
		}
		if len(wellknown.OpenWebhookPrefix+*e.name) > validation.DNS1123SubdomainMaxLength {
			return "its generateName is too long: an opening adds the prefix " + wellknown.OpenWebhookPrefix
		}
	}
	return ""
}

// OpenState returns which requests pass by a configuration of the manager while its backend does not answer.
func OpenState(o metav1.Object) managerv1alpha1.FailOpenState {
	state := managerv1alpha1.FailOpenState(o.GetAnnotations()[wellknown.AnnotationFailOpen])
	_, second := openEntryOf(o)
	all := entriesOf(o)
	switch {
	case second && state != managerv1alpha1.FailOpenAll:
		return managerv1alpha1.FailOpenPartly
	case second, state != "" && len(all) > 0 && all[0].ignored():
		return managerv1alpha1.FailOpenAll
	default:
		return managerv1alpha1.FailOpenClosed
	}
}

// OpenRequests returns the CEL expression for the requests that pass by an open configuration; empty for all.
func OpenRequests(o metav1.Object) string {
	if opened, second := openEntryOf(o); second {
		if i := slices.IndexFunc(*opened.conditions, isOpenCondition); i >= 0 {
			return (*opened.conditions)[i].Expression
		}
	}
	return ""
}

// CopyOpening gives a configuration the same opening as another one, or none. Everything else stays.
func CopyOpening(to, from metav1.Object) {
	source := entriesOf(from)
	if len(source) == 0 || len(entriesOf(to)) == 0 {
		return
	}
	Close(to, *source[0].policy, *source[0].timeout)
	if opened, second := openEntryOf(from); second {
		appendCopy(to)
		all := entriesOf(to)
		declared, added := all[0], all[len(all)-1]
		*added.name, *added.policy, *added.timeout = wellknown.OpenWebhookPrefix+*declared.name, *opened.policy, *opened.timeout
		added.copyCondition(opened)
		declared.copyCondition(source[0])
	}
	if state, open := from.GetAnnotations()[wellknown.AnnotationFailOpen]; open {
		annotate(to, state)
	}
}

// Close removes an opening. The declared webhook gets its failurePolicy and its timeout.
func Close(o metav1.Object, policy *admissionregistrationv1.FailurePolicyType, timeout *int32) {
	isOpening := openingNames(o)
	switch c := o.(type) {
	case *admissionregistrationv1.ValidatingWebhookConfiguration:
		c.Webhooks = slices.DeleteFunc(c.Webhooks, func(w admissionregistrationv1.ValidatingWebhook) bool { return isOpening[w.Name] })
	case *admissionregistrationv1.MutatingWebhookConfiguration:
		c.Webhooks = slices.DeleteFunc(c.Webhooks, func(w admissionregistrationv1.MutatingWebhook) bool { return isOpening[w.Name] })
	}
	if all := entriesOf(o); len(all) > 0 {
		all[0].remove()
		*all[0].policy, *all[0].timeout = policy, timeout
	}
	annotate(o, "")
}

// openEntryOf returns the webhook that an opening added.
func openEntryOf(o metav1.Object) (e entry, found bool) {
	names := openingNames(o)
	for _, e := range entriesOf(o) {
		if names[*e.name] {
			return e, true
		}
	}
	return entry{}, false
}

// openingNames are the names of the webhooks that openings added: an author may use the prefix, too.
func openingNames(o metav1.Object) map[string]bool {
	all, names := map[string]bool{}, entriesOf(o)
	for _, e := range names {
		declared, prefixed := strings.CutPrefix(*e.name, wellknown.OpenWebhookPrefix)
		all[*e.name] = prefixed && slices.ContainsFunc(names, func(other entry) bool { return *other.name == declared })
	}
	return all
}

func annotate(o metav1.Object, state string) {
	annotations := maps.Clone(o.GetAnnotations())
	delete(annotations, wellknown.AnnotationFailOpen)
	if state != "" {
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[wellknown.AnnotationFailOpen] = state
	}
	o.SetAnnotations(annotations)
}

// entry has pointers to the fields of a webhook that an opening changes.
type entry struct {
	name       *string
	policy     **admissionregistrationv1.FailurePolicyType
	timeout    **int32
	conditions *[]admissionregistrationv1.MatchCondition
}

func entriesOf(o metav1.Object) (all []entry) {
	switch c := o.(type) {
	case *admissionregistrationv1.ValidatingWebhookConfiguration:
		for i := range c.Webhooks {
			w := &c.Webhooks[i]
			all = append(all, entry{&w.Name, &w.FailurePolicy, &w.TimeoutSeconds, &w.MatchConditions})
		}
	case *admissionregistrationv1.MutatingWebhookConfiguration:
		for i := range c.Webhooks {
			w := &c.Webhooks[i]
			all = append(all, entry{&w.Name, &w.FailurePolicy, &w.TimeoutSeconds, &w.MatchConditions})
		}
	}
	return all
}

// appendCopy appends a copy of the first webhook.
func appendCopy(o metav1.Object) {
	switch c := o.(type) {
	case *admissionregistrationv1.ValidatingWebhookConfiguration:
		c.Webhooks = append(c.Webhooks, *c.Webhooks[0].DeepCopy())
	case *admissionregistrationv1.MutatingWebhookConfiguration:
		c.Webhooks = append(c.Webhooks, *c.Webhooks[0].DeepCopy())
	}
}

func (e entry) ignored() bool {
	return *e.policy != nil && **e.policy == admissionregistrationv1.Ignore
}

func (e entry) ignore() {
	*e.policy = new(admissionregistrationv1.Ignore)
	if *e.timeout == nil || **e.timeout > openTimeout {
		*e.timeout = new(int32(openTimeout))
	}
}

func (e entry) add(expression string) {
	*e.conditions = append(slices.Clip(*e.conditions), admissionregistrationv1.MatchCondition{Name: wellknown.OpenMatchCondition, Expression: expression})
}

func (e entry) remove() {
	kept := slices.DeleteFunc(slices.Clone(*e.conditions), isOpenCondition)
	if len(kept) == 0 {
		kept = nil
	}
	*e.conditions = kept
}

func (e entry) copyCondition(from entry) {
	e.remove()
	if i := slices.IndexFunc(*from.conditions, isOpenCondition); i >= 0 {
		e.add((*from.conditions)[i].Expression)
	}
}

func isOpenCondition(c admissionregistrationv1.MatchCondition) bool {
	return c.Name == wellknown.OpenMatchCondition
}
