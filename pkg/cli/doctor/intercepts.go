package doctor

import (
	"fmt"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/csvstatus"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
)

const (
	// fewRules is how many rules of a webhook a finding names, and how many resources of each rule. An object
	// of 1.5 MiB may have rules for thousands of millions of resources.
	fewRules = 5
	// longName is how many bytes of the name of a resource with its group are shown.
	longName = 200
)

func intercepts(w Webhook) string {
	rules := lists.Map(w.Rules[:min(len(w.Rules), fewRules)], func(r admissionregistrationv1.RuleWithOperations) string {
		return operationsOf(r) + " of " + resourcesOf(r)
	})
	text := strings.Join(rules, "; ")
	if more := len(w.Rules) - fewRules; more > 0 {
		text += fmt.Sprintf("; and by %d more rules", more)
	}
	if s := w.NamespaceSelector; s != nil && len(s.MatchLabels)+len(s.MatchExpressions) > 0 {
		text += " in the namespaces that it selects"
	}
	return text
}

func operationsOf(r admissionregistrationv1.RuleWithOperations) string {
	first := r.Operations[:min(len(r.Operations), fewRules)]
	return strings.Join(lists.Texts(first), ", ")
}

func resourcesOf(r admissionregistrationv1.RuleWithOperations) string {
	var first []string
	for _, group := range r.APIGroups[:min(len(r.APIGroups), fewRules)] {
		for _, resource := range r.Resources[:min(len(r.Resources), fewRules-len(first))] {
			first = append(first, csvstatus.Shorten(strings.TrimSuffix(resource+"."+group, "."), longName, ""))
		}
	}
	text := strings.Join(first, ", ")
	if more := len(r.APIGroups)*len(r.Resources) - len(first); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
