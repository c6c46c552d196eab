// Package webhookconfig reads the two kinds of webhook configurations in one form.
package webhookconfig

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
)

// Webhooks returns the webhooks of a configuration, without reinvocationPolicy; none for another object.
func Webhooks(o any) []admissionregistrationv1.ValidatingWebhook {
	switch c := o.(type) {
	case *admissionregistrationv1.ValidatingWebhookConfiguration:
		return c.Webhooks
	case *admissionregistrationv1.MutatingWebhookConfiguration:
		var all []admissionregistrationv1.ValidatingWebhook
		for _, w := range c.Webhooks {
			all = append(all, admissionregistrationv1.ValidatingWebhook{
				Name: w.Name, ClientConfig: w.ClientConfig, Rules: w.Rules, FailurePolicy: w.FailurePolicy, MatchPolicy: w.MatchPolicy,
				NamespaceSelector: w.NamespaceSelector, ObjectSelector: w.ObjectSelector, MatchConditions: w.MatchConditions,
				SideEffects: w.SideEffects, TimeoutSeconds: w.TimeoutSeconds, AdmissionReviewVersions: w.AdmissionReviewVersions,
			})
		}
		return all
	default:
		return nil
	}
}

// RulesOf returns the rules of the constraints of an admission policy or of its binding, without names of resources.
func RulesOf(matches *admissionregistrationv1.MatchResources) (rules []admissionregistrationv1.RuleWithOperations) {
	for _, rule := range matches.ResourceRules {
		rules = append(rules, rule.RuleWithOperations)
	}
	return rules
}
