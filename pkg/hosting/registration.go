package hosting

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Registration has the fields of a webhook's registration that do not follow from the Webhook. The
// zero value of each field is the safe choice. Conversions do not use it.
type Registration struct {
	// Rules replace the rules for Kinds and Operations, which list the resources of the kinds without
	// subresources.
	Rules []admissionregistrationv1.RuleWithOperations

	// FailurePolicy is Ignore if empty. A webhook with the policy Fail can block the pods that serve
	// it. With Fail and a Service, the namespace of the Service is excluded unless NamespaceSelector
	// is set.
	FailurePolicy admissionregistrationv1.FailurePolicyType

	// SideEffects is None if empty: dry runs reach the webhook.
	SideEffects admissionregistrationv1.SideEffectClass

	// TimeoutSeconds is 10 if zero, which is the default of API servers.
	TimeoutSeconds int32

	// ReinvocationPolicy of a mutating webhook; Never if empty.
	ReinvocationPolicy admissionregistrationv1.ReinvocationPolicyType

	// NamespaceSelector, ObjectSelector and MatchConditions restrict the requests.
	NamespaceSelector *metav1.LabelSelector
	ObjectSelector    *metav1.LabelSelector
	MatchConditions   []admissionregistrationv1.MatchCondition
}
