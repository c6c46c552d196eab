// Package policy defines ProjectPolicies, and decides which of their rules a namespace breaks. It is pure.
package policy

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Resource identifies the policies in the API.
var Resource = schema.GroupVersionResource{
	Group:    "projectpolicy.example.com",
	Version:  "v1alpha1",
	Resource: "projectpolicies",
}

// ConditionValid is the condition that reports whether a policy can be enforced. The reasons follow.
const (
	ConditionValid = "Valid"

	ReasonEnforced       = "Enforced"
	ReasonInvalidPattern = "InvalidPattern"
)

// ProjectPolicy is a rule for the names and labels of all namespaces.
type ProjectPolicy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              Spec   `json:"spec"`
	Status            Status `json:"status"`
}

// Spec is the requirements for every namespace that is not exempt.
type Spec struct {
	// NamePattern is an RE2 expression that the whole name must match; any name if empty.
	NamePattern    string          `json:"namePattern,omitempty"`
	RequiredLabels []RequiredLabel `json:"requiredLabels,omitempty"`
	// Exempt lists excluded namespaces: names, or prefixes with an asterisk.
	Exempt []string `json:"exempt,omitempty"`
	// Message explains to users how to comply.
	Message string `json:"message,omitempty"`
}

// RequiredLabel is a label that a namespace must have.
type RequiredLabel struct {
	Key string `json:"key"`
	// Pattern is an RE2 expression that the whole value must match; any value if empty.
	Pattern string `json:"pattern,omitempty"`
}

// Status is written by the webhook server.
type Status struct {
	// Conditions has the condition Valid.
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
