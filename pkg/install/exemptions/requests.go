package exemptions

import (
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/rules"
)

// subject is the resource that requests are about, as the rules of a webhook name it.
type subject struct {
	schema.GroupResource
	subresource string
	operations  []admissionregistrationv1.OperationType
	extent      rules.Extent
	bare        bool // the object in the request has no labels
}

var changes = []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update, admissionregistrationv1.Delete}

func namespacedSubjects(group, resource string, subresources ...string) []subject {
	return subjects(group, resource, rules.Namespaced, subresources)
}

func clusterSubjects(group, resource string, subresources ...string) []subject {
	return subjects(group, resource, rules.ClusterScoped, subresources)
}

func subjects(group, resource string, extent rules.Extent, subresources []string) []subject {
	return lists.Map(append([]string{""}, subresources...), func(subresource string) subject {
		return subject{GroupResource: schema.GroupResource{Group: group, Resource: resource}, subresource: subresource, operations: changes, extent: extent}
	})
}

// creation is about an object that is not stored, such as a Binding, and that has no labels.
func creation(resource, subresource string) subject {
	return subject{
		GroupResource: schema.GroupResource{Resource: resource}, subresource: subresource, extent: rules.Namespaced, bare: true,
		operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
	}
}

func update(group, resource string) subject {
	return subject{
		GroupResource: schema.GroupResource{Group: group, Resource: resource}, extent: rules.ClusterScoped,
		operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Update},
	}
}

// With matchPolicy Equivalent a rule for one version matches all versions.
func intercepts(d operatorsv1alpha1.WebhookDescription, s subject) bool {
	return slices.ContainsFunc(d.Rules, func(r admissionregistrationv1.RuleWithOperations) bool {
		inGroup := slices.Contains(r.APIGroups, "*") || slices.Contains(r.APIGroups, s.Group)
		return inGroup && coversResource(r, s) && coversOperation(r, s) && rules.CoversExtent(r, s.extent)
	})
}

// As in the API server, "*" is every resource without subresources, and "*/*" is everything.
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

// The value of any label that is not known can match.
func couldSelect(selector *metav1.LabelSelector, known labels.Set) bool {
	requirements, _ := parsed(selector).Requirements()
	return !slices.ContainsFunc(requirements, func(r labels.Requirement) bool { return known.Has(r.Key()) && !r.Matches(known) })
}

// As in the API server, an absent selector is everything. It refuses an invalid one when that is written.
func parsed(selector *metav1.LabelSelector) labels.Selector {
	parsed, err := metav1.LabelSelectorAsSelector(selector)
	if selector == nil || err != nil {
		return labels.Everything()
	}
	return parsed
}
