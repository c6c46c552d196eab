package explain

import "slices"

// The kinds of steps, in the order in which API servers run them.
const (
	MutatingPolicy    = "MutatingAdmissionPolicy"
	MutatingWebhook   = "MutatingWebhookConfiguration"
	ValidatingPolicy  = "ValidatingAdmissionPolicy"
	ValidatingWebhook = "ValidatingWebhookConfiguration"
)

// Verdict is what a webhook or policy does with a request.
type Verdict string

const (
	// Sees means that the webhook is called, or that the expressions of the policy are evaluated.
	Sees Verdict = "Sees"
	// Skipped means that it does not see the request. Reason is why.
	Skipped Verdict = "Skipped"
	// Refuses means that the API server refuses the request without calling it, because its matchConditions or its
	// configuration fail.
	Refuses Verdict = "Refuses"
	// Unknown means that the snapshot is not enough to decide.
	Unknown Verdict = "Unknown"
	// NotReached means that an earlier step refuses the request.
	NotReached Verdict = "NotReached"
)

// Step is a webhook, or a policy with one of its bindings and parameters.
type Step struct {
	Kind string `json:"kind"`
	// Object is the webhook configuration or the policy.
	Object string `json:"object"`
	// Name is that of the webhook, Binding and Param those of a policy. Param is namespace/name.
	Name    string  `json:"name,omitempty"`
	Binding string  `json:"binding,omitempty"`
	Param   string  `json:"param,omitempty"`
	Verdict Verdict `json:"verdict"`
	Reason  string  `json:"reason,omitempty"`
	// Version is the API version in which it gets the object: with matchPolicy Equivalent not always that of the request.
	Version string `json:"version,omitempty"`
	// Index is that of the keys round_0_index_N of the audit log; nil for a policy, and for a webhook without a key.
	Index *int `json:"index,omitempty"`
	// OnFailure is what happens if the webhook does not answer, or if an expression of the policy fails.
	OnFailure string `json:"onFailure"`
	// ReinvocationPolicy is IfNeeded if it may run a second time, after a later step has changed the object.
	ReinvocationPolicy string `json:"reinvocationPolicy,omitempty"`
}

// Explanation is the way of one request through admission.
type Explanation struct {
	Operation string `json:"operation"`
	Resource  string `json:"resource"`
	Version   string `json:"version"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	User      User   `json:"user"`
	Steps     []Step `json:"steps"`
	// Conversion is nil if the API server calls no conversion webhook.
	Conversion *Conversion `json:"conversion,omitempty"`
	// Questions are what the conditions ask the authorizer, and the snapshot does not answer.
	Questions []Access `json:"-"`
}

// Refused reports whether the API server refuses the request at one of the steps before it asks the webhook or policy.
func (e Explanation) Refused() bool {
	return slices.ContainsFunc(e.Steps, func(s Step) bool { return s.Verdict == Refuses })
}

// Count returns how many steps have a verdict.
func (e Explanation) Count(verdict Verdict) int {
	n := 0
	for _, s := range e.Steps {
		if s.Verdict == verdict {
			n++
		}
	}
	return n
}
