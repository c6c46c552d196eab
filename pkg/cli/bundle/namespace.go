package bundle

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	strictjson "sigs.k8s.io/json"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/groupkind"
)

// The annotations by which an author suggests a namespace. The template takes precedence.
const (
	NamespaceAnnotation         = "operatorframework.io/suggested-namespace"
	NamespaceTemplateAnnotation = "operatorframework.io/suggested-namespace-template"
)

// SuggestedNamespace returns the default namespace of an installation.
func (b *Bundle) SuggestedNamespace() string {
	return cmp.Or(b.AuthorsNamespace(), b.Package(), "operators")
}

// AuthorsNamespace returns the namespace in an annotation; empty if there is none.
func (b *Bundle) AuthorsNamespace() string {
	return cmp.Or(b.namespaceMeta().Name, b.CSV.Annotations[NamespaceAnnotation])
}

// BelongsToKubernetes reports whether Kubernetes has a namespace for itself. Objects there can give rights
// by their name alone, such as a Secret with a bootstrap token.
func BelongsToKubernetes(namespace string) bool {
	return slices.Contains([]string{metav1.NamespaceSystem, metav1.NamespacePublic, corev1.NamespaceNodeLease}, namespace)
}

// NamespaceTemplate returns the author's Namespace, nil if there is none, and for each field that is left out the
// reason. The error is why the template is invalid.
func (b *Bundle) NamespaceTemplate() (template *corev1.Namespace, leftOut []string, err error) {
	text := b.CSV.Annotations[NamespaceTemplateAnnotation]
	if text == "" {
		return nil, nil, nil
	}
	template = &corev1.Namespace{}
	extra, err := strictjson.UnmarshalStrict([]byte(text), template, strictjson.DisallowUnknownFields)
	if err != nil {
		return nil, nil, fmt.Errorf("it cannot be read as JSON of a Namespace: %s", decodingError(err))
	}
	if kind := template.GroupVersionKind(); kind.Kind != "" && kind != corev1.SchemeGroupVersion.WithKind("Namespace") {
		return nil, nil, fmt.Errorf("it is no Namespace of v1, but kind %s, apiVersion %q", kind.Kind, template.APIVersion)
	}
	for _, e := range extra {
		leftOut = append(leftOut, fieldPath(e)+" is no field of a Namespace, and is left out")
	}
	for field, pairs := range map[string]map[string]string{"annotations": template.Annotations, "labels": template.Labels} {
		for _, path := range removeInstructions(groupkind.Namespace, field, pairs) {
			leftOut = append(leftOut, path+" "+notTaken)
		}
	}
	slices.Sort(leftOut)
	return template, leftOut, nil
}

func (b *Bundle) namespaceMeta() metav1.ObjectMeta {
	template, _, err := b.NamespaceTemplate()
	if err != nil || template == nil {
		return metav1.ObjectMeta{}
	}
	return metav1.ObjectMeta{Name: template.Name, Labels: template.Labels, Annotations: template.Annotations}
}

func (i installation) namespaceObject() *unstructured.Unstructured {
	object := corev1.Namespace{ObjectMeta: i.namespaceMeta()}
	object.Name = i.Namespace
	return plain(&object)
}
