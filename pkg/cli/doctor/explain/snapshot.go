// Package explain computes which admission webhooks and policies of a cluster see a request, in the order of the API server.
package explain

import (
	"fmt"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
)

// Snapshot is what a cluster has at one time, as far as admission depends on it.
type Snapshot struct {
	MutatingWebhooks   []admissionregistrationv1.MutatingWebhookConfiguration
	ValidatingWebhooks []admissionregistrationv1.ValidatingWebhookConfiguration
	MutatingPolicies   []admissionregistrationv1.MutatingAdmissionPolicy
	MutatingBindings   []admissionregistrationv1.MutatingAdmissionPolicyBinding
	ValidatingPolicies []admissionregistrationv1.ValidatingAdmissionPolicy
	ValidatingBindings []admissionregistrationv1.ValidatingAdmissionPolicyBinding
	Namespaces         []corev1.Namespace
	Definitions        []apiextensionsv1.CustomResourceDefinition
	// Resources are what the API server serves, in the order of its discovery. Those of Definitions may be absent.
	Resources []Resource
	// Undiscovered are the group versions whose resources could not be read, with the cause: their API server may be lost.
	Undiscovered map[schema.GroupVersion]string
	// Params has the objects of the kinds that the policies name as paramKind. Other objects do no harm.
	Params []unstructured.Unstructured
	// ReviewsAreExempt is set if the API servers call no webhooks for reviews of authentication and authorization.
	ReviewsAreExempt bool
	// Access are answers of the API server's authorizer.
	Access map[Access]bool
}

// Resource is a resource that an API server serves, in one version.
type Resource struct {
	schema.GroupVersionResource
	Subresource string
	Kind        schema.GroupVersionKind
	Namespaced  bool
}

// Find returns the resource of a kind.
func (s Snapshot) Find(kind schema.GroupVersionKind) (Resource, bool) {
	all := s.resources()
	i := slices.IndexFunc(all, func(r Resource) bool { return r.Kind == kind && r.Subresource == "" })
	if i < 0 {
		return Resource{}, false
	}
	return all[i], true
}

// resources are those of the definitions, in the order of their versions, and all others.
func (s Snapshot) resources() []Resource {
	var all []Resource
	defined := map[schema.GroupResource]bool{}
	for _, crd := range s.Definitions {
		defined[schema.GroupResource{Group: crd.Spec.Group, Resource: crd.Spec.Names.Plural}] = true
		all = append(all, resourcesOf(crd)...)
	}
	return append(all, lists.Filter(s.Resources, func(r Resource) bool { return !defined[r.GroupResource()] })...)
}

// resourcesOf has also the versions that are not served: API servers count them as equivalent to the others.
func resourcesOf(crd apiextensionsv1.CustomResourceDefinition) []Resource {
	var all []Resource
	for _, v := range crd.Spec.Versions {
		group := schema.GroupVersion{Group: crd.Spec.Group, Version: v.Name}
		resource := Resource{
			GroupVersionResource: group.WithResource(crd.Spec.Names.Plural), Kind: group.WithKind(crd.Spec.Names.Kind),
			Namespaced: crd.Spec.Scope == apiextensionsv1.NamespaceScoped,
		}
		all = append(all, resource)
		if v.Subresources == nil {
			continue
		}
		if resource.Subresource = "status"; v.Subresources.Status != nil {
			all = append(all, resource)
		}
		if resource.Subresource = "scale"; v.Subresources.Scale != nil {
			resource.Kind = schema.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "Scale"}
			all = append(all, resource)
		}
	}
	return all
}

// definition returns the definition of a custom resource, or nil.
func (s Snapshot) definition(of schema.GroupKind) *apiextensionsv1.CustomResourceDefinition {
	i := slices.IndexFunc(s.Definitions, func(crd apiextensionsv1.CustomResourceDefinition) bool {
		return crd.Spec.Group == of.Group && crd.Spec.Names.Kind == of.Kind
	})
	if i < 0 {
		return nil
	}
	return &s.Definitions[i]
}

func (s Snapshot) hasNamespace(name string) bool {
	return slices.ContainsFunc(s.Namespaces, func(ns corev1.Namespace) bool { return ns.Name == name })
}

// namespaces has the methods of a lister, for the packages of the API server.
type namespaces []corev1.Namespace

// Get implements NamespaceLister.
func (n namespaces) Get(name string) (*corev1.Namespace, error) {
	i := slices.IndexFunc(n, func(ns corev1.Namespace) bool { return ns.Name == name })
	if i < 0 {
		// The caller would ask a client for a Namespace that is not found.
		return nil, apierrors.NewInternalError(fmt.Errorf("the Namespace %s is not known", name))
	}
	return &n[i], nil
}

// List implements NamespaceLister.
func (n namespaces) List(selector labels.Selector) ([]*corev1.Namespace, error) {
	var all []*corev1.Namespace
	for i := range n {
		if selector.Matches(labels.Set(n[i].Labels)) {
			all = append(all, &n[i])
		}
	}
	return all, nil
}
