// Package webhookconfig reads the two kinds of webhook configurations in one form.
package webhookconfig

import (
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/validation"

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

// ValidPath reports whether the API server accepts the path of a webhook's server: steps that are subdomains, with or
// without a slash at the end.
func ValidPath(path string) bool {
	rest, absolute := strings.CutPrefix(path, "/")
	steps := strings.Split(strings.TrimSuffix(rest, "/"), "/")
	invalid := func(step string) bool { return len(validation.IsDNS1123Subdomain(step)) > 0 }
	return absolute && (rest == "" || !slices.ContainsFunc(steps, invalid))
}

// RulesOf returns the rules of the constraints of an admission policy or of its binding, without names of resources.
func RulesOf(matches *admissionregistrationv1.MatchResources) []admissionregistrationv1.RuleWithOperations {
	return lists.Map(matches.ResourceRules, func(rule admissionregistrationv1.NamedRuleWithOperations) admissionregistrationv1.RuleWithOperations {
		return rule.RuleWithOperations
	})
}
