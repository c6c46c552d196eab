package hosting

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Registration is the part of a webhook's registration that does not follow from what
// the webhook serves. The zero value is the safe choice in every field. A conversion has
// no use for it.
type Registration struct {
	// Rules replace those that follow from Kinds and Operations: the resources of the
	// kinds, without subresources, as the API server lists them.
	Rules []admissionregistrationv1.RuleWithOperations

	// FailurePolicy is Ignore unless asked otherwise: a webhook that fails closed can
	// keep a cluster from starting the very pods that serve it. With Fail, and served
	// through a Service, the Service's own namespace is exempt unless NamespaceSelector
	// says otherwise.
	FailurePolicy admissionregistrationv1.FailurePolicyType

	// SideEffects is None if empty: dry runs reach the webhook.
	SideEffects admissionregistrationv1.SideEffectClass

	// TimeoutSeconds is 10 if zero, as the API server has it.
	TimeoutSeconds int32

	// ReinvocationPolicy of a mutating webhook; Never if empty.
	ReinvocationPolicy admissionregistrationv1.ReinvocationPolicyType

	// NamespaceSelector, ObjectSelector and MatchConditions narrow what is called for.
	NamespaceSelector *metav1.LabelSelector
	ObjectSelector    *metav1.LabelSelector
	MatchConditions   []admissionregistrationv1.MatchCondition
}
