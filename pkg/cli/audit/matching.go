package audit

import (
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor/explain"
)

// Served is what the API server serves, and the Namespaces.
type Served struct {
	Resources   []explain.Resource
	Definitions []apiextensionsv1.CustomResourceDefinition
	Namespaces  []corev1.Namespace
}

// matcher finds the requests in the scope of a webhook.
type matcher struct {
	Webhook
	served     Served
	unread     []Unread
	conditions []condition
	// passing are the compiled expressions of the openings.
	passing map[string]condition
}

func matcherOf(w Webhook, f Facts) matcher {
	m := matcher{Webhook: w, served: f.Served, unread: f.Unread, passing: map[string]condition{}}
	for _, c := range w.Declared.MatchConditions {
		m.conditions = append(m.conditions, conditionOf("matchCondition "+c.Name, c.Expression))
	}
	for _, o := range w.Openings {
		for _, expression := range []string{o.Requests, o.AllRequests} {
			m.passing[expression] = conditionOf("the condition of the opening", expression)
		}
	}
	return m
}

// admitted reports whether a change is a request in the scope of the webhook that passed in an opening.
func (m matcher) admitted(o Object, c evidenced, opening managerv1alpha1.Opening) truth {
	p := past{operation: c.operation, subresource: c.subresource, object: o, superseded: o.lastTime().After(c.time), mutating: m.Mutates()}
	w := windowOf(opening, m.Mutates(), c.operation)
	return and(
		func() truth { return w.contains(c.time) },
		func() truth { return m.inScope(p) },
		func() truth {
			return w.passed(c.time, func(expression string) truth { return m.passes(expression, p) })
		},
	)
}

func (m matcher) passes(expression string, p past) truth {
	if expression == "" {
		return isTrue
	}
	return m.passing[expression].evaluate(p)
}

// failsOpen reports whether a matchCondition fails for a request of the log, and none is false. An open webhook passes such a
// request, and the log has no annotation about it.
func (m matcher) failsOpen(write logged, o Object, w window) (failed bool) {
	p := past{operation: write.operation, subresource: write.subresource, object: o, superseded: o.lastTime().After(write.answered), mutating: m.Mutates(), logged: &write}
	if w.passed(write.received, func(expression string) truth { return m.passes(expression, p) }).of == no {
		return false
	}
	for _, c := range m.conditions {
		answer := c.evaluate(p)
		if answer.of == no {
			return false
		}
		failed = failed || answer.failed
	}
	return failed
}

// inScope evaluates rules, selectors and matchConditions.
func (m matcher) inScope(p past) truth {
	answers := []func() truth{func() truth { return m.selected(p) }}
	for _, c := range m.conditions {
		answers = append(answers, func() truth { return c.evaluate(p) })
	}
	return and(answers...)
}

// selected evaluates rules and selectors. The labels of a changed object may have been others.
func (m matcher) selected(p past) truth {
	switch {
	case m.selects(p, m.Declared.ObjectSelector):
		return isTrue
	case p.superseded && m.selects(p, nil):
		return perhaps("objectSelector does not select the object now, and the object has changed since")
	default:
		return isFalse
	}
}

// selects evaluates rules and selectors, with another objectSelector if the labels are not known.
func (m matcher) selects(p past, objects *metav1.LabelSelector) bool {
	return m.sentTo(*m.Declared, p, objects)
}

// sentTo asks the packages of the API server whether a webhook gets a request.
func (m matcher) sentTo(w admissionregistrationv1.ValidatingWebhook, p past, objects *metav1.LabelSelector) bool {
	w.MatchConditions, w.ObjectSelector, w.FailurePolicy = nil, objects, nil
	if objects == nil {
		w.ObjectSelector = &metav1.LabelSelector{}
	}
	resource := p.object.Resource
	resource.Subresource = p.subresource
	r := explain.Request{Operation: p.operation, Resource: resource}
	if r.Operation != admissionregistrationv1.Delete {
		r.Object = p.object.skeleton()
	}
	if r.Operation != admissionregistrationv1.Create {
		r.Old = p.object.skeleton()
	}
	e, err := explain.Explain(m.snapshot(w, resource), r)
	return err == nil && e.Count(explain.Sees) > 0
}

// snapshot has the webhook alone, and the resources of one kind: versions of a resource are equivalent.
func (m matcher) snapshot(w admissionregistrationv1.ValidatingWebhook, of explain.Resource) explain.Snapshot {
	configuration := admissionregistrationv1.ValidatingWebhookConfiguration{Webhooks: []admissionregistrationv1.ValidatingWebhook{w}}
	same := func(r explain.Resource) bool {
		return storage(r.GroupResource()) == storage(of.GroupResource()) && r.Subresource == of.Subresource
	}
	return explain.Snapshot{
		ValidatingWebhooks: []admissionregistrationv1.ValidatingWebhookConfiguration{configuration},
		Namespaces:         m.served.Namespaces,
		Resources:          lists.Filter(m.served.Resources, same),
		Definitions: lists.Filter(m.served.Definitions, func(crd apiextensionsv1.CustomResourceDefinition) bool {
			return crd.Spec.Group == of.Group && crd.Spec.Names.Plural == of.Resource
		}),
	}
}

// skeleton is an object with what selectors need.
func (o Object) skeleton() *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetGroupVersionKind(o.Resource.Kind)
	u.SetNamespace(o.Namespace)
	u.SetName(o.Name)
	u.SetLabels(o.Labels)
	return u
}

// inNamespace is the namespace of a request for the object. That of a Namespace is its name.
func (o Object) inNamespace() string {
	if o.Resource.GroupResource() == namespaces {
		return o.Name
	}
	return o.Namespace
}

var namespaces = schema.GroupResource{Resource: "namespaces"}

// Scope returns the resources whose objects the webhook may see, each in a version that the rules name, if there is one.
func (w Webhook) Scope(served []explain.Resource) []explain.Resource {
	if w.Declared == nil {
		return nil
	}
	var all []explain.Resource
	index := map[schema.GroupResource]int{}
	for _, r := range served {
		if r.Subresource != "" || !w.names(r, false) {
			continue
		}
		i, known := index[storage(r.GroupResource())]
		switch {
		case !known:
			index[storage(r.GroupResource())] = len(all)
			all = append(all, r)
		case !w.names(all[i], true) && w.names(r, true):
			all[i] = r
		}
	}
	return all
}

// storage returns the resource in which API servers store the objects of a resource.
func storage(r schema.GroupResource) schema.GroupResource {
	if r == (schema.GroupResource{Group: "events.k8s.io", Resource: "events"}) {
		r.Group = ""
	}
	return r
}

// names reports whether a rule names a resource or a subresource of it, in any version or in this one.
func (w Webhook) names(r explain.Resource, version bool) bool {
	return slices.ContainsFunc(w.Declared.Rules, func(rule admissionregistrationv1.RuleWithOperations) bool {
		resource := func(named string) bool {
			named, _, _ = strings.Cut(named, "/")
			return named == "*" || named == r.Resource
		}
		return includes(rule.APIGroups, r.Group) && slices.ContainsFunc(rule.Resources, resource) && (!version || includes(rule.APIVersions, r.Version))
	})
}

func includes(named []string, one string) bool {
	return slices.Contains(named, "*") || slices.Contains(named, one)
}

// RegardsContent reports whether matchConditions or openings depend on more than the metadata of objects.
func (w Webhook) RegardsContent() bool {
	var expressions []string
	if w.Declared != nil {
		for _, c := range w.Declared.MatchConditions {
			expressions = append(expressions, c.Expression)
		}
	}
	for _, o := range w.Openings {
		expressions = append(expressions, o.Requests, o.AllRequests)
	}
	return slices.ContainsFunc(expressions, func(e string) bool { return strings.Contains(strings.ToLower(e), "object") })
}
