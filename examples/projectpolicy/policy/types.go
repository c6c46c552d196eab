// Package policy says what a ProjectPolicy is and which rules of it a
// namespace breaks. It is pure: values in, values out.
package policy

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Resource is where ProjectPolicies are served.
var Resource = schema.GroupVersionResource{
	Group:    "projectpolicy.example.com",
	Version:  "v1alpha1",
	Resource: "projectpolicies",
}

// ConditionValid is the type of the condition that reports whether a policy can
// be enforced, with one of the reasons below.
const (
	ConditionValid = "Valid"

	ReasonEnforced       = "Enforced"
	ReasonInvalidPattern = "InvalidPattern"
)

// ProjectPolicy is a rule, cluster-wide, for the names and labels of namespaces.
type ProjectPolicy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec   Spec   `json:"spec"`
	Status Status `json:"status"`
}

// Spec is what a ProjectPolicy asks of every namespace that it does not exempt.
type Spec struct {
	// NamePattern is an RE2 expression that the whole name must match; empty
	// lets every name pass.
	NamePattern string `json:"namePattern,omitempty"`

	// RequiredLabels are the labels that a namespace must carry.
	RequiredLabels []RequiredLabel `json:"requiredLabels,omitempty"`

	// Exempt lists the namespaces that the policy does not apply to: names, or
	// prefixes followed by an asterisk.
	Exempt []string `json:"exempt,omitempty"`

	// Message explains to users how to comply.
	Message string `json:"message,omitempty"`
}

// RequiredLabel is a label that a namespace must carry.
type RequiredLabel struct {
	// Key is the label's key.
	Key string `json:"key"`

	// Pattern is an RE2 expression that the whole value must match; empty lets
	// every value pass.
	Pattern string `json:"pattern,omitempty"`
}

// Status is what the webhook server reports about a policy.
type Status struct {
	// Conditions holds the condition Valid.
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
