package lint

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/utils/ptr"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
)

// patience is what most clients have with a request: an API server has a minute, and whoever
// holds a lease has ten seconds to renew it.
const patience = 20 * time.Second

var latencyChecks = []Check{{
	Code: "added-latency", Level: Warning, Basis: Policy,
	Explain: `An API server calls the mutating webhooks of a request one after another, and then all validating ones at once. So what they may add to one request is the sum of the
timeouts of the former, and the longest of the latter; a mutating webhook with reinvocationPolicy IfNeeded may be called twice. Webhooks of other operators come on top. API servers
give a request a minute in all, and many clients less. Shorten the timeouts (a webhook that looks at one object answers within milliseconds), let one webhook do the work of
several, or narrow the rules. Selectors are not looked at: webhooks that never meet on one object add nothing to each other.`,
	find: addedLatency,
}}

// addedLatency looks at each request that the rules name, and says the same of several once.
func addedLatency(s *subject) []mistake {
	delayed, first := map[string][]string{}, map[string]webhook{}
	calls := callsOf(s.admission())
	requests := s.requests()
	for _, r := range requests[:min(len(requests), maxRequests)] {
		called := calls.of(r)
		if total, how := latency(called); len(called) > 1 && total > patience {
			what := fmt.Sprintf("%d s longer while nobody answers: %s", int(total.Seconds()), how)
			delayed[what], first[what] = append(delayed[what], r.String()), called[0]
		}
	}
	var all []mistake
	if len(requests) > maxRequests {
		all = append(all, s.inCSV("spec.webhookdefinitions", fmt.Sprintf("the rules name more than %d requests, and what webhooks may add is not computed for the others", maxRequests), "name fewer resources in the rules"))
	}
	for _, what := range slices.Sorted(maps.Keys(delayed)) {
		requests := slices.Compact(slices.Sorted(slices.Values(delayed[what])))
		all = append(all, s.inCSV(first[what].path+".timeoutSeconds", fmt.Sprintf("to %s may take %s", strings.Join(requests, ", "), what), "shorten the timeouts, or let one webhook do the work of several"))
	}
	return all
}

// maxSteps is how many webhooks a finding names.
const maxSteps = 20

// latency is what webhooks can add to a request that all of them are called for, and how.
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
