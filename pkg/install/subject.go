package install

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// subject is what a request is about, as the rule of a webhook sees it.
type subject struct {
	schema.GroupResource
	subresource string
	operations  []admissionregistrationv1.OperationType
	extent      Extent
	bare        bool // the object that the request shows bears no labels
}

// Changes to objects, as rules name them.
var changes = []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update, admissionregistrationv1.Delete}

func namespacedSubjects(group, resource string, subresources ...string) []subject {
	return subjects(group, resource, Namespaced, subresources)
}

func clusterSubjects(group, resource string, subresources ...string) []subject {
	return subjects(group, resource, ClusterScoped, subresources)
}

func subjects(group, resource string, extent Extent, subresources []string) []subject {
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
		GroupResource: schema.GroupResource{Resource: resource}, subresource: subresource, extent: Namespaced, bare: true,
		operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
	}
}

func update(group, resource string) subject {
	return subject{
		GroupResource: schema.GroupResource{Group: group, Resource: resource}, extent: ClusterScoped,
		operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Update},
	}
}
