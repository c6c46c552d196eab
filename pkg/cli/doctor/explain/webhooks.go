package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/webhook"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/predicates/object"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/predicates/rules"
	"k8s.io/utils/ptr"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/webhookconfig"
)

// mutatingWebhooks are called one after the other. The first one whose conditions fail ends the request.
func (e *examination) mutatingWebhooks() []Step {
	configurations := slices.Clone(e.MutatingWebhooks)
	slices.SortStableFunc(configurations, func(a, b admissionregistrationv1.MutatingWebhookConfiguration) int {
		return cmp.Compare(a.Name, b.Name)
	})
	var steps []Step
	ended := false
	for _, c := range configurations {
		for i, w := range webhookconfig.Webhooks(&c) {
			step := e.webhook(MutatingWebhook, c.Name, w)
			step.ReinvocationPolicy = ifNeeded(ptr.Deref(c.Webhooks[i].ReinvocationPolicy, admissionregistrationv1.NeverReinvocationPolicy))
			switch {
			case ended:
				step.Verdict, step.Reason = NotReached, "an earlier step refuses the request"
			case step.Verdict == Sees:
				step.Index = ptr.To(len(steps))
			}
			ended = ended || step.Verdict == Refuses
			steps = append(steps, step)
		}
	}
	return steps
}

// validatingWebhooks are called at the same time, after all conditions are evaluated: if those of one webhook fail, none
// is called.
func (e *examination) validatingWebhooks() []Step {
	configurations := slices.Clone(e.ValidatingWebhooks)
	slices.SortStableFunc(configurations, func(a, b admissionregistrationv1.ValidatingWebhookConfiguration) int {
		return cmp.Compare(a.Name, b.Name)
	})
	var steps []Step
	called := 0
	for _, c := range configurations {
		for _, w := range c.Webhooks {
			step := e.webhook(ValidatingWebhook, c.Name, w)
			if step.Verdict == Sees {
				step.Index = ptr.To(called)
				called++
			}
			steps = append(steps, step)
		}
	}
	first := slices.IndexFunc(steps, func(s Step) bool { return s.Verdict == Refuses })
	for i := range steps {
		if step := &steps[i]; first >= 0 && (i > first || i < first && step.Verdict == Sees) {
			step.Verdict, step.Index, step.Reason = NotReached, nil, "the conditions of "+steps[first].Name+" refuse the request"
		}
	}
	return steps
}

// webhook follows the order of the API server: an error of a selector counts only if a rule matches.
func (e *examination) webhook(kind, configuration string, w admissionregistrationv1.ValidatingWebhook) Step {
	step := Step{Kind: kind, Object: configuration, Name: w.Name, Verdict: Skipped, OnFailure: onCallFailure(w)}
	if step.Reason = e.exempt(false); step.Reason != "" {
		return step
	}
	var selectors selectorErrors
	if step.Reason = e.unselected(webhook.NewValidatingWebhookAccessor("", configuration, &w), &selectors); step.Reason != "" {
		return step
	}
	resource, version, err := e.sentAs(w)
	if err != nil {
		step.Verdict, step.Reason = Refuses, err.Error()
		return step
	}
	if resource.Empty() {
		step.Reason = e.noRule(w)
		return step
	}
	if selectors.first != nil {
		step.Verdict, step.Reason = Refuses, selectors.first.Error()
		return step
	}
	step.Version = version.GroupVersion().String()
	e.conclude(&step, conditions{all: w.MatchConditions}, version, nil, failurePolicy(ignores(w.FailurePolicy)))
	return step
}

type selectorErrors struct{ first error }

type selecting interface {
	GetParsedNamespaceSelector() (labels.Selector, error)
	GetParsedObjectSelector() (labels.Selector, error)
}

// unselected returns which selector leaves the request out; empty for none.
func (e *examination) unselected(w selecting, failed *selectorErrors) string {
	inNamespace, err := e.namespaces.MatchNamespaceSelector(w, e.attr)
	if err != nil {
		failed.first = err
	} else if !inNamespace {
		return "namespaceSelector does not select the Namespace " + e.attr.GetNamespace()
	}
	var objects object.Matcher
	selected, err := objects.MatchObjectSelector(w, e.attr)
	if err != nil {
		failed.first = cmp.Or(failed.first, error(err))
	} else if !selected {
		return "objectSelector does not select the labels of the object"
	}
	return ""
}

// sentAs returns the resource and kind in which the webhook gets the request; empty if no rule matches.
func (e *examination) sentAs(w admissionregistrationv1.ValidatingWebhook) (schema.GroupVersionResource, schema.GroupVersionKind, error) {
	matches := func(resource schema.GroupVersionResource) func(admissionregistrationv1.RuleWithOperations) bool {
		return func(rule admissionregistrationv1.RuleWithOperations) bool {
			matcher := rules.Matcher{Rule: rule, Attr: otherResource{e.attr, resource}}
			return matcher.Matches()
		}
	}
	if slices.ContainsFunc(w.Rules, matches(e.attr.GetResource())) {
		return e.attr.GetResource(), e.attr.GetKind(), nil
	}
	if ptr.Deref(w.MatchPolicy, admissionregistrationv1.Exact) != admissionregistrationv1.Equivalent {
		return schema.GroupVersionResource{}, schema.GroupVersionKind{}, nil
	}
	mapper := e.interfaces.GetEquivalentResourceMapper()
	for _, rule := range w.Rules {
		for _, equivalent := range mapper.EquivalentResourcesFor(e.attr.GetResource(), e.attr.GetSubresource()) {
			if equivalent == e.attr.GetResource() || !matches(equivalent)(rule) {
				continue
			}
			kind := mapper.KindFor(equivalent, e.attr.GetSubresource())
			if kind.Empty() {
				return equivalent, kind, fmt.Errorf("the kind of %s is not known", equivalent)
			}
			return equivalent, kind, nil
		}
	}
	return schema.GroupVersionResource{}, schema.GroupVersionKind{}, nil
}

// noRule names the operation and the resource, and matchPolicy where it is the cause.
func (e *examination) noRule(w admissionregistrationv1.ValidatingWebhook) string {
	resource := e.attr.GetResource()
	name := strings.TrimSuffix(resource.Resource+"/"+e.attr.GetSubresource(), "/")
	text := fmt.Sprintf("no rule matches %s of %s in %s", e.attr.GetOperation(), name, metav1.GroupVersion{Group: resource.Group, Version: resource.Version}.String())
	w.MatchPolicy = ptr.To(admissionregistrationv1.Equivalent)
	if other, _, _ := e.sentAs(w); !other.Empty() {
		text += "; matchPolicy Exact leaves out " + other.GroupVersion().String()
	}
	return text
}

// ifNeeded is empty for any other policy.
func ifNeeded(policy admissionregistrationv1.ReinvocationPolicyType) string {
	if policy == admissionregistrationv1.IfNeededReinvocationPolicy {
		return string(policy)
	}
	return ""
}

type otherResource struct {
	admission.Attributes
	resource schema.GroupVersionResource
}

func (o otherResource) GetResource() schema.GroupVersionResource { return o.resource }

func ignores(policy *admissionregistrationv1.FailurePolicyType) bool {
	return ptr.Deref(policy, admissionregistrationv1.Fail) == admissionregistrationv1.Ignore
}

const defaultTimeout = 10 // seconds, as the API server sets it

func onCallFailure(w admissionregistrationv1.ValidatingWebhook) string {
	after := fmt.Sprintf("after at most %d s", ptr.Deref(w.TimeoutSeconds, defaultTimeout))
	if ignores(w.FailurePolicy) {
		return "failurePolicy Ignore: without an answer the request continues " + after
	}
	return "failurePolicy Fail: without an answer the request is refused " + after
}
