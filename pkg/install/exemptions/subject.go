package exemptions

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/rules"
)

// subject is what a request is about, as the rule of a webhook sees it.
type subject struct {
	schema.GroupResource
	subresource string
	operations  []admissionregistrationv1.OperationType
	extent      rules.Extent
	bare        bool // the object that the request shows bears no labels
}

// Changes to objects, as rules name them.
var changes = []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update, admissionregistrationv1.Delete}

func namespacedSubjects(group, resource string, subresources ...string) []subject {
	return subjects(group, resource, rules.Namespaced, subresources)
}

func clusterSubjects(group, resource string, subresources ...string) []subject {
	return subjects(group, resource, rules.ClusterScoped, subresources)
}

func subjects(group, resource string, extent rules.Extent, subresources []string) []subject {
	var all []subject
	for _, subresource := range append([]string{""}, subresources...) {
		all = append(all, subject{GroupResource: schema.GroupResource{Group: group, Resource: resource}, subresource: subresource, operations: changes, extent: extent})
	}
	return all
}

// creation is of an object of the core group that is not stored: it says what to do with another, and the
// cluster's own clients put no labels on it.
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
