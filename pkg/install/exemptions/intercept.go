package exemptions

import (
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/rules"
)

// intercepts tells whether a webhook is called for requests about the subject. Versions
// do not count: by matchPolicy, a rule for one is a rule for all of them.
func intercepts(d operatorsv1alpha1.WebhookDescription, s subject) bool {
	return slices.ContainsFunc(d.Rules, func(r admissionregistrationv1.RuleWithOperations) bool {
		return hasOrAll(r.APIGroups, s.Group) && coversResource(r, s) && coversOperation(r, s) && rules.CoversExtent(r, s.extent)
	})
}

func hasOrAll(items []string, item string) bool {
	return slices.Contains(items, "*") || slices.Contains(items, item)
}

// coversResource is the API server's reading of a rule: "*" is every resource and no
// subresource, "*/*" is everything.
func coversResource(r admissionregistrationv1.RuleWithOperations, s subject) bool {
	return slices.ContainsFunc(r.Resources, func(named string) bool {
		resource, subresource, _ := strings.Cut(named, "/")
		return (resource == "*" || resource == s.Resource) && (subresource == "*" || subresource == s.subresource)
	})
}

func coversOperation(r admissionregistrationv1.RuleWithOperations, s subject) bool {
	return slices.ContainsFunc(r.Operations, func(o admissionregistrationv1.OperationType) bool {
		return o == admissionregistrationv1.OperationAll || slices.Contains(s.operations, o)
	})
}

// couldSelect tells whether an objectSelector may match an object that bears at least
// the given labels. Of a key that is not among them nothing is known: it may match.
func couldSelect(selector *metav1.LabelSelector, known labels.Set) bool {
	requirements, _ := parsed(selector).Requirements()
	return !slices.ContainsFunc(requirements, func(r labels.Requirement) bool { return known.Has(r.Key()) && !r.Matches(known) })
}

// matches tells whether an objectSelector matches an object that bears exactly these labels.
func matches(selector *metav1.LabelSelector, all labels.Set) bool {
	return parsed(selector).Matches(all)
}

// parsed takes no selector for one of everything, as the API server does, and one that is
// not valid, too: that is refused when it is written.
func parsed(selector *metav1.LabelSelector) labels.Selector {
	parsed, err := metav1.LabelSelectorAsSelector(selector)
	if selector == nil || err != nil {
		return labels.Everything()
	}
	return parsed
}
