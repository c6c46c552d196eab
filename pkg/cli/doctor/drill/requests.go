package drill

import (
	"fmt"
	"maps"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor/explain"
)

// request is one that a part needs to return.
type request struct {
	operation admissionregistrationv1.OperationType
	resource  explain.Resource
	// object is the object of the request, and old the stored one; nil for a creation.
	object, old client
	user        explain.User
	// someUser reports that the user is not known, and that user is only an example.
	someUser bool
}

// client is an object with metadata and a kind.
type client interface {
	metav1.Object
	runtime.Object
}

// String is operation and resource, for people.
func (r request) String() string {
	name := schema.GroupResource{Group: r.resource.Group, Resource: r.resource.Resource}.String()
	if r.resource.Subresource != "" {
		name = r.resource.Resource + "/" + r.resource.Subresource
	}
	return fmt.Sprintf("%s of %s", r.operation, name)
}

func (r request) namespace() string { return r.object.GetNamespace() }

func (r request) explained() (explain.Request, error) {
	object, err := unstructuredOf(r.object, r.resource.Kind)
	if err != nil {
		return explain.Request{}, err
	}
	explained := explain.Request{Operation: r.operation, Object: object, Resource: r.resource, User: r.user}
	if r.old != nil {
		explained.Old, err = unstructuredOf(r.old, r.resource.Kind)
	}
	return explained, err
}

func unstructuredOf(o client, kind schema.GroupVersionKind) (*unstructured.Unstructured, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(kind)
	return u, err
}

func resource(group schema.GroupVersion, name, subresource, kind string, namespaced bool) explain.Resource {
	return explain.Resource{GroupVersionResource: group.WithResource(name), Subresource: subresource, Kind: group.WithKind(kind), Namespaced: namespaced}
}

var (
	pods           = resource(corev1.SchemeGroupVersion, "pods", "", "Pod", true)
	podStatus      = resource(corev1.SchemeGroupVersion, "pods", "status", "Pod", true)
	bindings       = resource(corev1.SchemeGroupVersion, "pods", "binding", "Binding", true)
	nodeStatus     = resource(corev1.SchemeGroupVersion, "nodes", "status", "Node", false)
	quotaStatus    = resource(corev1.SchemeGroupVersion, "resourcequotas", "status", "ResourceQuota", true)
	leases         = resource(coordinationv1.SchemeGroupVersion, "leases", "", "Lease", true)
	endpointSlices = resource(discoveryv1.SchemeGroupVersion, "endpointslices", "", "EndpointSlice", true)
	tokens         = explain.Resource{
		GroupVersionResource: corev1.SchemeGroupVersion.WithResource("serviceaccounts"), Subresource: "token",
		Kind: authenticationv1.SchemeGroupVersion.WithKind("TokenRequest"), Namespaced: true,
	}
)

// The users of the control plane.
var (
	controllerManager = explain.Impersonated("system:kube-controller-manager", nil)
	scheduler         = explain.Impersonated("system:kube-scheduler", nil)
	apiServer         = explain.Impersonated("system:apiserver", []string{"system:masters"})
)

// controller returns the user of a controller of the controller manager.
func (s Snapshot) controller(name string) explain.User {
	if !s.controllerAccounts() {
		return controllerManager
	}
	return explain.Impersonated("system:serviceaccount:"+metav1.NamespaceSystem+":"+name, nil)
}

func kubelet(node string) explain.User {
	return explain.Impersonated("system:node:"+node, []string{"system:nodes"})
}

func creating(r explain.Resource, o client, by explain.User) request {
	return request{operation: admissionregistrationv1.Create, resource: r, object: o, user: by}
}

func updating(r explain.Resource, old, o client, by explain.User) request {
	return request{operation: admissionregistrationv1.Update, resource: r, object: o, old: old, user: by}
}

func tokenFor(namespace, account string, by explain.User) request {
	return creating(tokens, &authenticationv1.TokenRequest{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: account}}, by)
}

// suffix is the end of generated names.
const suffix = "x2x4x"

// endpointsOf returns the request that gives a Service endpoints: the controller changes a slice, or creates the first.
func (s Snapshot) endpointsOf(service corev1.Service) request {
	by := s.controller("endpointslice-controller")
	for _, slice := range s.EndpointSlices {
		if slice.Namespace == service.Namespace && slice.Labels[discoveryv1.LabelServiceName] == service.Name && slice.Labels[discoveryv1.LabelManagedBy] == sliceController {
			empty := slice.DeepCopy()
			empty.Endpoints = nil
			return updating(endpointSlices, empty, slice.DeepCopy(), by)
		}
	}
	labels := maps.Clone(service.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels[discoveryv1.LabelServiceName], labels[discoveryv1.LabelManagedBy] = service.Name, sliceController
	yes := true
	return creating(endpointSlices, &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: service.Name + "-", Namespace: service.Namespace, Labels: labels,
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Service", Name: service.Name, UID: service.UID, Controller: &yes, BlockOwnerDeletion: &yes}},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
	}, by)
}

const sliceController = "endpointslice-controller.k8s.io"
