package explain

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/yamltext"
)

// Objects returns the objects of a text in YAML or JSON, and those of its lists.
func Objects(text []byte) ([]unstructured.Unstructured, error) {
	documents := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	var all []unstructured.Unstructured
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err == nil {
			all, err = appendObjects(all, document)
		}
		if err != nil {
			return nil, err
		}
	}
}

func appendObjects(all []unstructured.Unstructured, document []byte) ([]unstructured.Unstructured, error) {
	if err := yamltext.Check(document); err != nil {
		return nil, err
	}
	var o unstructured.Unstructured
	if err := yaml.Unmarshal(document, &o.Object); err != nil {
		return nil, err
	}
	if len(o.Object) == 0 {
		return all, nil
	}
	if !o.IsList() {
		return append(all, o), nil
	}
	err := o.EachListItem(func(item runtime.Object) error {
		all = append(all, *item.(*unstructured.Unstructured))
		return nil
	})
	return all, err
}

// Add adds an object to a snapshot. Objects of any kind may be parameters of policies.
func (s *Snapshot) Add(o unstructured.Unstructured) error {
	kind := o.GroupVersionKind()
	var err error
	switch kind.GroupKind() {
	case schema.GroupKind{Kind: "Namespace"}:
		s.Namespaces, err = with[corev1.Namespace](s.Namespaces, o)
	case schema.GroupKind{Kind: "APIResourceList"}:
		var list []metav1.APIResourceList
		if list, err = with[metav1.APIResourceList](nil, o); err == nil {
			s.Resources = append(s.Resources, Served(&list[0])...)
		}
	case apiextensionsv1.Kind("CustomResourceDefinition"):
		s.Definitions, err = with[apiextensionsv1.CustomResourceDefinition](s.Definitions, o)
	case admissionregistrationv1.SchemeGroupVersion.WithKind("MutatingWebhookConfiguration").GroupKind():
		s.MutatingWebhooks, err = with[admissionregistrationv1.MutatingWebhookConfiguration](s.MutatingWebhooks, o)
	case admissionregistrationv1.SchemeGroupVersion.WithKind("ValidatingWebhookConfiguration").GroupKind():
		s.ValidatingWebhooks, err = with[admissionregistrationv1.ValidatingWebhookConfiguration](s.ValidatingWebhooks, o)
	case admissionregistrationv1.SchemeGroupVersion.WithKind("MutatingAdmissionPolicy").GroupKind():
		s.MutatingPolicies, err = with[admissionregistrationv1.MutatingAdmissionPolicy](s.MutatingPolicies, o)
	case admissionregistrationv1.SchemeGroupVersion.WithKind("MutatingAdmissionPolicyBinding").GroupKind():
		s.MutatingBindings, err = with[admissionregistrationv1.MutatingAdmissionPolicyBinding](s.MutatingBindings, o)
	case admissionregistrationv1.SchemeGroupVersion.WithKind("ValidatingAdmissionPolicy").GroupKind():
		s.ValidatingPolicies, err = with[admissionregistrationv1.ValidatingAdmissionPolicy](s.ValidatingPolicies, o)
	case admissionregistrationv1.SchemeGroupVersion.WithKind("ValidatingAdmissionPolicyBinding").GroupKind():
		s.ValidatingBindings, err = with[admissionregistrationv1.ValidatingAdmissionPolicyBinding](s.ValidatingBindings, o)
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", kind.Kind, o.GetName(), err)
	}
	s.Params = append(s.Params, o)
	return nil
}

// Stored returns the object of the snapshot with the kind and the name of another, or nil.
func (s Snapshot) Stored(like *unstructured.Unstructured) *unstructured.Unstructured {
	for _, o := range s.Params {
		if o.GroupVersionKind() == like.GroupVersionKind() && o.GetNamespace() == like.GetNamespace() && o.GetName() == like.GetName() {
			return &o
		}
	}
	return nil
}

func with[T any](all []T, o unstructured.Unstructured) ([]T, error) {
	var typed T
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &typed)
	return append(all, typed), err
}

// Served returns the resources of an answer to discovery.
func Served(list *metav1.APIResourceList) []Resource {
	group, err := schema.ParseGroupVersion(list.GroupVersion)
	if err != nil {
		return nil
	}
	var all []Resource
	for _, r := range list.APIResources {
		name, subresource, _ := strings.Cut(r.Name, "/")
		kind := group.WithKind(r.Kind)
		if r.Version != "" {
			kind.Group, kind.Version = r.Group, r.Version
		}
		all = append(all, Resource{group.WithResource(name), subresource, kind, r.Namespaced})
	}
	return all
}

// Guess returns the resource of a kind that the snapshot does not have, by the rules for names of built-in kinds.
func Guess(o *unstructured.Unstructured) Resource {
	kind := o.GroupVersionKind()
	resource, _ := meta.UnsafeGuessKindToResource(kind)
	return Resource{GroupVersionResource: resource, Kind: kind, Namespaced: o.GetNamespace() != ""}
}
