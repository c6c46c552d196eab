// Package webhookconfig reads the two kinds of webhook configurations in one form.
package webhookconfig

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
)

// Webhooks returns the webhooks of a configuration, without reinvocationPolicy; none for another object.
func Webhooks(o any) []admissionregistrationv1.ValidatingWebhook {
	switch c := o.(type) {
	case *admissionregistrationv1.ValidatingWebhookConfiguration:
		return c.Webhooks
	case *admissionregistrationv1.MutatingWebhookConfiguration:
		return lists.Map(c.Webhooks, Validating)
	default:
		return nil
	}
}

// Validating returns a mutating webhook without reinvocationPolicy.
func Validating(w admissionregistrationv1.MutatingWebhook) admissionregistrationv1.ValidatingWebhook {
	return admissionregistrationv1.ValidatingWebhook{
		Name: w.Name, ClientConfig: w.ClientConfig, Rules: w.Rules, FailurePolicy: w.FailurePolicy, MatchPolicy: w.MatchPolicy,
		NamespaceSelector: w.NamespaceSelector, ObjectSelector: w.ObjectSelector, MatchConditions: w.MatchConditions,
		SideEffects: w.SideEffects, TimeoutSeconds: w.TimeoutSeconds, AdmissionReviewVersions: w.AdmissionReviewVersions,
	}
}

// RulesOf returns the rules of the constraints of an admission policy or of its binding, without names of resources.
func RulesOf(matches *admissionregistrationv1.MatchResources) []admissionregistrationv1.RuleWithOperations {
	return lists.Map(matches.ResourceRules, func(rule admissionregistrationv1.NamedRuleWithOperations) admissionregistrationv1.RuleWithOperations {
		return rule.RuleWithOperations
	})
}
