package explain

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/policy/matching"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/predicates/namespace"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/predicates/rules"
)

// Explain returns the steps of a request through the webhooks and policies of a cluster. It regards the object as the
// request has it, with the fields that the API server sets before validating steps: a step may change the object for later
// ones, and the API server sets defaults of built-in kinds.
func Explain(s Snapshot, r Request) (Explanation, error) { return NewExplainer(s).Explain(r) }

// Explainer explains requests with one snapshot. It compiles the conditions of a webhook or policy once.
type Explainer struct {
	snapshot Snapshot
	registry runtime.EquivalentResourceRegistry
	// compiled has the conditions of a webhook or of a policy, by the names of the step.
	compiled map[[3]string]compiled
}

// NewExplainer returns an Explainer for a snapshot.
func NewExplainer(s Snapshot) *Explainer {
	registry := runtime.NewEquivalentResourceRegistryWithIdentity(storedTogether)
	for _, r := range s.resources() {
		registry.RegisterKindFor(r.GroupVersionResource, r.Subresource, r.Kind)
	}
	return &Explainer{s, registry, map[[3]string]compiled{}}
}

// Explain does what the function Explain does.
func (x *Explainer) Explain(r Request) (Explanation, error) {
	if err := r.validate(); err != nil {
		return Explanation{}, err
	}
	s := x.snapshot
	attr, err := r.attributes(s)
	if err != nil {
		return Explanation{}, err
	}
	if ns := r.namespace(); r.Resource.Namespaced && !s.hasNamespace(ns) {
		return Explanation{}, fmt.Errorf("the Namespace %q does not exist: the API server refuses the request before it calls webhooks", ns)
	}
	e := x.examine(attr)
	e.open = r.User.open()
	e.add(e.mutatingPolicies())
	e.add(e.mutatingWebhooks())
	if err := e.finish(); err != nil {
		return Explanation{}, err
	}
	e.add(e.validatingPolicies())
	e.add(e.validatingWebhooks())
	resource := r.Resource.GroupResource().String()
	if r.Resource.Subresource != "" {
		resource += "/" + r.Resource.Subresource
	}
	return Explanation{
		Operation: string(r.Operation), Resource: resource, Version: r.Resource.GroupVersion().String(),
		Namespace: attr.GetNamespace(), Name: attr.GetName(), User: r.User, Steps: e.steps,
		Conversion: s.conversion(r, e.steps), Questions: e.questions,
	}, nil
}

// examination is one request, before the plugins of the API server.
type examination struct {
	Snapshot
	attr       admission.Attributes
	open       []openField
	interfaces admission.ObjectInterfaces
	namespaces namespace.Matcher
	policies   *matching.Matcher
	compiled   map[[3]string]compiled

	steps     []Step
	questions []Access
	// refused reports whether a plugin has refused the request: no later plugin gets it.
	refused bool
}

func (x *Explainer) examine(attr admission.Attributes) *examination {
	s := x.snapshot
	return &examination{
		Snapshot: s, attr: attr, compiled: x.compiled,
		interfaces: &admission.RuntimeObjectInterfaces{EquivalentResourceMapper: x.registry},
		namespaces: namespace.Matcher{NamespaceLister: namespaces(s.Namespaces)},
		policies:   matching.NewMatcher(namespaces(s.Namespaces), nil),
	}
}

// finish replaces the request of the mutating steps by that of the validating steps.
func (e *examination) finish() error {
	attr, fields, err := e.finalAttributes(e.attr)
	if err != nil {
		return err
	}
	e.attr, e.open = attr, append(e.open, fields...)
	return nil
}

// storedTogether returns the same key for the resources of two groups whose objects API servers store in one place.
func storedTogether(resource schema.GroupResource) string {
	if resource == (schema.GroupResource{Group: "events.k8s.io", Resource: "events"}) {
		return schema.GroupResource{Resource: "events"}.String()
	}
	return ""
}

// add adds the steps of one plugin.
func (e *examination) add(steps []Step) {
	for i := range steps {
		if e.refused {
			steps[i].Verdict, steps[i].Reason, steps[i].Index = NotReached, "an earlier step refuses the request", nil
		}
	}
	e.refused = e.refused || slices.ContainsFunc(steps, func(s Step) bool { return s.Verdict == Refuses })
	e.steps = append(e.steps, steps...)
}

// exempt returns why no webhook and no policy sees the request; empty if they may.
func (e *examination) exempt(policy bool) string {
	group := e.attr.GetResource().GroupResource()
	switch {
	case policy && slices.Contains(notPolicies, group):
		return "API servers evaluate no policies for " + group.String()
	case policy && slices.Contains(reviews, group):
		return "API servers evaluate no policies for reviews of authentication and authorization"
	case !policy && e.ReviewsAreExempt && slices.Contains(reviews, group):
		return "API servers from Kubernetes 1.37 on call no webhooks for reviews of authentication and authorization"
	case !policy && rules.IsExemptAdmissionConfigurationResource(e.attr):
		return "API servers call no webhooks for webhook configurations, policies and their bindings"
	default:
		return ""
	}
}

// conclude fills in what conditions are for the request.
func (e *examination) conclude(step *Step, c conditions, kind schema.GroupVersionKind, param runtime.Object, errors tolerated) {
	attr, err := e.versioned(e.attr, kind)
	if err != nil && len(c.all) > 0 {
		step.Verdict, step.Reason = Unknown, "matchConditions were not evaluated: "+err.Error()
		return
	}
	r := result{matches: true}
	if len(c.all) > 0 {
		name := [3]string{step.Kind, step.Object, step.Name}
		if _, known := e.compiled[name]; !known {
			e.compiled[name] = c.compile()
		}
		r = e.compiled[name].evaluate(attr, param, e.Access, e.open)
	}
	e.questions = append(e.questions, r.unanswered...)
	switch {
	case len(r.unanswered) > 0:
		step.Verdict, step.Reason = Unknown, "the result depends on the answer of the authorizer: "+r.unanswered[0].String()
	case len(r.depends) > 0:
		step.Verdict, step.Reason = Unknown, "the result depends on "+strings.Join(r.depends, ", ")+", which is not known"
	case r.matches:
		step.Verdict = Sees
	case r.err == nil:
		step.Verdict, step.Reason = Skipped, fmt.Sprintf("matchCondition %q is false", r.isFalse)
	default:
		step.fail("matchConditions fail: "+r.err.Error(), errors)
	}
}

// tolerated reports whether a request continues after an error, and why.
type tolerated struct {
	continues bool
	because   string
}

func failurePolicy(ignore bool) tolerated {
	if ignore {
		return tolerated{true, "failurePolicy is Ignore"}
	}
	return tolerated{false, "failurePolicy is Fail"}
}

// fail records an error before the webhook is called, or before the expressions of the policy are evaluated.
func (s *Step) fail(reason string, errors tolerated) {
	s.Verdict, s.Reason = Refuses, reason+"; "+errors.because
	if errors.continues {
		s.Verdict = Skipped
	}
}
