package lint

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/predicates/rules"
	"k8s.io/utils/ptr"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
)

// maxLatency is what most clients have with a request: an API server has a minute, and the holder of a lease has ten seconds to renew it.
const maxLatency = 20 * time.Second

var latencyChecks = []Check{{
	Code: "added-latency", Level: Warning, Basis: Policy,
	Explain: `An API server calls the mutating webhooks of a request one after another,
and then all validating ones at the same time. So the maximum delay of a request is the sum of the
mutating timeouts plus the longest validating timeout. A mutating webhook with reinvocationPolicy
IfNeeded may be called twice. Webhooks of other operators add to that. An API server ends a request
after one minute, and many clients do so earlier. Shorten the timeouts, use one webhook instead of
several, or narrow the rules. The check ignores selectors: webhooks that never intercept the same
object do not add up.`,
	find: addedLatency,
}}

// addedLatency examines each request that the rules name, and reports requests with the same result once.
func addedLatency(s *subject) {
	delayed, first := map[string][]string{}, map[string]webhook{}
	calls := callsOf(s.admission())
	requests := s.requests()
	for _, r := range requests[:min(len(requests), maxRequests)] {
		called := calls.of(r)
		if total, how := latency(called); len(called) > 1 && total > maxLatency {
			what := fmt.Sprintf("%d s longer while the webhooks do not answer: %s", int(total.Seconds()), how)
			delayed[what], first[what] = append(delayed[what], r.String()), called[0]
		}
	}
	if len(requests) > maxRequests {
		s.reportCSV("spec.webhookdefinitions", fmt.Sprintf("the rules name more than %d requests, and what webhooks may add is not computed for the others", maxRequests), "name fewer resources in the rules")
	}
	for _, what := range slices.Sorted(maps.Keys(delayed)) {
		requests := slices.Compact(slices.Sorted(slices.Values(delayed[what])))
		s.reportCSV(first[what].path+".timeoutSeconds", fmt.Sprintf("to %s may take %s", strings.Join(requests, ", "), what), "shorten the timeouts, or let one webhook do the work of several")
	}
}

const maxSteps = 20

func latency(called []webhook) (total time.Duration, how string) {
	var steps []string
	var atOnce time.Duration
	more := 0
	for _, w := range called {
		timeout, twice := time.Duration(ptr.Deref(w.TimeoutSeconds, 10))*time.Second, ""
		if w.Type == operatorsv1alpha1.ValidatingAdmissionWebhook {
			atOnce = max(atOnce, timeout)
			continue
		}
		if ptr.Deref(w.ReinvocationPolicy, "") == admissionregistrationv1.IfNeededReinvocationPolicy {
			timeout, twice = 2*timeout, " for two calls"
		}
		total += timeout
		if len(steps) == maxSteps {
			more++
			continue
		}
		steps = append(steps, fmt.Sprintf("%s (%d s%s)", w.GenerateName, int(timeout.Seconds()), twice))
	}
	if more > 0 {
		steps = append(steps, fmt.Sprintf("%d more", more))
	}
	if atOnce > 0 {
		steps = append(steps, fmt.Sprintf("the validating ones at once (%d s)", int(atOnce.Seconds())))
	}
	return total + atOnce, strings.Join(steps, ", then ")
}

// request is one that a rule names. What an asterisk stands for has the asterisk as its name.
type request struct {
	operation   admissionregistrationv1.OperationType
	resource    schema.GroupVersionResource
	subresource string
}

// maxRequests is how many requests are examined. Each is compared with the rules that may name it.
const maxRequests = 2000

// requests returns the distinct requests that the rules match, at most one more than maxRequests.
func (s *subject) requests() []request {
	var all []request
	known := map[request]bool{}
	for _, w := range s.admission() {
		for _, rule := range w.Rules {
			for r := range requestsOf(rule) {
				if len(all) > maxRequests {
					return all
				}
				if !known[r] {
					known[r] = true
					all = append(all, r)
				}
			}
		}
	}
	return all
}

func requestsOf(rule admissionregistrationv1.RuleWithOperations) iter.Seq[request] {
	operations := rule.Operations
	if slices.Contains(operations, admissionregistrationv1.OperationAll) {
		operations = []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update, admissionregistrationv1.Delete, admissionregistrationv1.Connect}
	}
	return func(yield func(request) bool) {
		for _, operation := range operations {
			for _, group := range rule.APIGroups {
				for _, version := range rule.APIVersions {
					for _, resource := range rule.Resources {
						name, subresource, _ := strings.Cut(resource, "/")
						if !yield(request{operation, schema.GroupVersionResource{Group: group, Version: version, Resource: name}, subresource}) {
							return
						}
					}
				}
			}
		}
	}
}

// calls compares a request only with rules that name its group and resource, or an asterisk.
type calls struct {
	webhooks []webhook
	by       map[schema.GroupResource][]int // indexes, in order
}

func callsOf(webhooks []webhook) calls {
	c := calls{webhooks, map[schema.GroupResource][]int{}}
	for i, w := range webhooks {
		for _, rule := range w.Rules {
			for r := range requestsOf(rule) {
				key := r.resource.GroupResource()
				if at := c.by[key]; len(at) == 0 || at[len(at)-1] != i {
					c.by[key] = append(at, i)
				}
			}
		}
	}
	return c
}

func (c calls) of(r request) []webhook {
	var near []int
	for _, group := range slices.Compact([]string{r.resource.Group, "*"}) {
		for _, resource := range slices.Compact([]string{r.resource.Resource, "*"}) {
			near = append(near, c.by[schema.GroupResource{Group: group, Resource: resource}]...)
		}
	}
	slices.Sort(near)
	attributes := admission.NewAttributesRecord(nil, nil, schema.GroupVersionKind{}, "", "", r.resource, r.subresource, admission.Operation(r.operation), nil, false, nil)
	var called []webhook
	for _, i := range slices.Compact(near) {
		if callsFor(c.webhooks[i], attributes) {
			called = append(called, c.webhooks[i])
		}
	}
	return called
}

func callsFor(w webhook, attributes admission.Attributes) bool {
	return slices.ContainsFunc(w.Rules, func(rule admissionregistrationv1.RuleWithOperations) bool {
		rule.Scope = nil // who names a resource knows its scope
		if ptr.Deref(w.MatchPolicy, admissionregistrationv1.Equivalent) == admissionregistrationv1.Equivalent {
			rule.APIVersions = []string{"*"}
		}
		matcher := rules.Matcher{Rule: rule, Attr: attributes}
		return matcher.Matches()
	})
}

// String is the request as people name it: create pods, update deployments.apps/status.
func (r request) String() string {
	name := r.resource.GroupResource().String()
	if r.subresource != "" {
		name += "/" + r.subresource
	}
	return strings.ToLower(string(r.operation)) + " " + name
}
