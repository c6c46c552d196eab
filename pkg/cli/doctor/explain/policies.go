package explain

import (
	"cmp"
	"errors"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
)

// What API servers evaluate no policies for. See also Snapshot.ReviewsAreExempt.
var (
	notPolicies = lists.Map([]string{
		"validatingadmissionpolicies", "validatingadmissionpolicybindings", "mutatingadmissionpolicies", "mutatingadmissionpolicybindings",
	}, admissionregistrationv1.Resource)
	reviews = []schema.GroupResource{
		{Group: "authentication.k8s.io", Resource: "selfsubjectreviews"},
		{Group: "authentication.k8s.io", Resource: "tokenreviews"},
		{Group: "authorization.k8s.io", Resource: "localsubjectaccessreviews"},
		{Group: "authorization.k8s.io", Resource: "selfsubjectaccessreviews"},
		{Group: "authorization.k8s.io", Resource: "selfsubjectrulesreviews"},
		{Group: "authorization.k8s.io", Resource: "subjectaccessreviews"},
	}
)

// policy is what both kinds of policies have.
type policy struct {
	kind, name  string
	ignores     bool // failurePolicy
	paramKind   *admissionregistrationv1.ParamKind
	constraints *admissionregistrationv1.MatchResources
	conditions  conditions
	bindings    []binding
	// reinvocation is that of a mutating policy.
	reinvocation admissionregistrationv1.ReinvocationPolicyType
}

type binding struct {
	name string
	// denies reports whether a failing expression may refuse the request.
	denies   bool
	matches  *admissionregistrationv1.MatchResources
	paramRef *admissionregistrationv1.ParamRef
}

func (e *examination) mutatingPolicies() []Step {
	bindings := map[string][]binding{}
	for _, b := range e.MutatingBindings {
		bindings[b.Spec.PolicyName] = append(bindings[b.Spec.PolicyName], binding{b.Name, true, b.Spec.MatchResources, b.Spec.ParamRef})
	}
	return e.evaluated(lists.Map(e.MutatingPolicies, func(p admissionregistrationv1.MutatingAdmissionPolicy) policy {
		c := conditions{p.Spec.MatchConditions, p.Spec.Variables, p.Spec.ParamKind != nil}
		return policy{MutatingPolicy, p.Name, ignores(p.Spec.FailurePolicy), p.Spec.ParamKind, p.Spec.MatchConstraints, c, bindings[p.Name], p.Spec.ReinvocationPolicy}
	}))
}

func (e *examination) validatingPolicies() []Step {
	bindings := map[string][]binding{}
	for _, b := range e.ValidatingBindings {
		denies := slices.Contains(b.Spec.ValidationActions, admissionregistrationv1.Deny)
		bindings[b.Spec.PolicyName] = append(bindings[b.Spec.PolicyName], binding{b.Name, denies, b.Spec.MatchResources, b.Spec.ParamRef})
	}
	return e.evaluated(lists.Map(e.ValidatingPolicies, func(p admissionregistrationv1.ValidatingAdmissionPolicy) policy {
		c := conditions{p.Spec.MatchConditions, p.Spec.Variables, p.Spec.ParamKind != nil}
		return policy{ValidatingPolicy, p.Name, ignores(p.Spec.FailurePolicy), p.Spec.ParamKind, p.Spec.MatchConstraints, c, bindings[p.Name], ""}
	}))
}

// evaluated are the steps of all policies of one kind, sorted by name, as their bindings. API servers have no order for
// either. They evaluate all, also if one refuses the request.
func (e *examination) evaluated(all []policy) []Step {
	slices.SortFunc(all, func(a, b policy) int { return cmp.Compare(a.name, b.name) })
	var steps []Step
	for _, p := range all {
		slices.SortFunc(p.bindings, func(a, b binding) int { return cmp.Compare(a.name, b.name) })
		steps = append(steps, e.policy(p)...)
	}
	return steps
}

func (e *examination) policy(p policy) []Step {
	step := Step{
		Kind: p.kind, Object: p.name, Verdict: Skipped, OnFailure: "failurePolicy Fail: the request is refused if an expression fails",
		ReinvocationPolicy: ifNeeded(p.reinvocation),
	}
	if p.ignores {
		step.OnFailure = "failurePolicy Ignore: the policy is ignored if an expression fails"
	}
	if step.Reason = e.exempt(true); step.Reason != "" {
		return []Step{step}
	}
	if len(p.bindings) == 0 {
		step.Reason = "it has no binding"
		return []Step{step}
	}
	matches, version, err := e.matches(p.constraints)
	switch {
	case err != nil:
		step.fail(err.Error(), failurePolicy(p.ignores))
	case !matches:
		step.Reason = e.unmatched("matchConstraints", p.constraints)
	default:
		scope, err := e.paramScope(p.paramKind)
		if err == nil {
			step.Version = version.GroupVersion().String()
			return e.bound(p, step, version, scope)
		}
		step.fail(err.Error(), failurePolicy(p.ignores))
	}
	return []Step{step}
}

// bound are the steps of a policy that matches, for each binding.
func (e *examination) bound(p policy, of Step, version schema.GroupVersionKind, scope paramScope) []Step {
	var steps []Step
	for _, b := range p.bindings {
		step := of
		if step.Binding = b.name; !b.denies && !p.ignores {
			step.OnFailure = "validationActions lack Deny: the request continues if an expression fails"
		}
		matches, err := true, error(nil)
		if b.matches != nil {
			matches, _, err = e.matches(b.matches)
		}
		if err == nil && !matches {
			step.Reason = e.unmatched("matchResources", b.matches)
			steps = append(steps, step)
			continue
		}
		var params []param
		if err == nil {
			params, err = e.params(scope, b.paramRef)
		}
		if err != nil {
			step.fail(err.Error(), failurePolicy(p.ignores))
			steps = append(steps, step)
			continue
		}
		if len(params) == 0 {
			step.Reason = "no parameter is found, and parameterNotFoundAction is Allow"
			steps = append(steps, step)
		}
		for _, param := range params {
			step.Param = param.name
			e.conclude(&step, p.conditions, version, param.object, tolerance(p, b))
			steps = append(steps, step)
		}
	}
	return steps
}

// tolerance is that of the expressions. Errors before an expression do not depend on validationActions.
func tolerance(p policy, b binding) tolerated {
	if !p.ignores && !b.denies {
		return tolerated{true, "validationActions lack Deny"}
	}
	return failurePolicy(p.ignores)
}

// criteria are the selectors of a policy or binding.
type criteria struct {
	*admissionregistrationv1.MatchResources
}

func (c criteria) GetParsedNamespaceSelector() (labels.Selector, error) {
	return metav1.LabelSelectorAsSelector(c.NamespaceSelector)
}

func (c criteria) GetParsedObjectSelector() (labels.Selector, error) {
	return metav1.LabelSelectorAsSelector(c.ObjectSelector)
}

func (c criteria) GetMatchResources() admissionregistrationv1.MatchResources {
	return *c.MatchResources
}

// matches also returns the kind in which the policy gets the object.
func (e *examination) matches(constraints *admissionregistrationv1.MatchResources) (bool, schema.GroupVersionKind, error) {
	if constraints == nil || constraints.NamespaceSelector == nil || constraints.ObjectSelector == nil {
		return false, schema.GroupVersionKind{}, errors.New("constraints without selectors match nothing: the API server sets them")
	}
	matches, _, kind, err := e.policies.Matches(e.attr, e.interfaces, criteria{constraints})
	return matches, kind, err
}

// unmatched returns why constraints do not match, with the field that has them.
func (e *examination) unmatched(field string, by *admissionregistrationv1.MatchResources) string {
	var ignored selectorErrors
	if reason := e.unselected(criteria{by}, &ignored); reason != "" {
		return field + "." + reason
	}
	return field + " has no resourceRule for the request, or an excludeResourceRule"
}
