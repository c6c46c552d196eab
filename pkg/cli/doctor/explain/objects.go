package explain

import (
	"fmt"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/client-go/kubernetes/scheme"
)

// received returns an object as the API server decodes it. A built-in kind has no defaults: only API servers have them.
func (s Snapshot) received(sent *unstructured.Unstructured, namespace string, created bool) (runtime.Object, error) {
	object := sent.DeepCopy()
	if object.GetNamespace() != "" || object.GroupVersionKind() != namespaceKind {
		object.SetNamespace(namespace)
	}
	if created {
		removeSystemFields(object)
	}
	kind := object.GroupVersionKind()
	if crd := s.definition(kind.GroupKind()); crd != nil {
		return object, setDefaults(object, *crd)
	}
	if !scheme.Scheme.Recognizes(kind) {
		return object, nil
	}
	typed, err := scheme.Scheme.New(kind)
	if err != nil {
		return nil, err
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, typed); err != nil {
		return nil, fmt.Errorf("%s %s: %w", kind.Kind, object.GetName(), err)
	}
	typed.GetObjectKind().SetGroupVersionKind(kind)
	return typed, nil
}

var namespaceKind = schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}

func removeSystemFields(object *unstructured.Unstructured) {
	object.SetCreationTimestamp(metav1.Time{})
	object.SetUID("")
	object.SetDeletionTimestamp(nil)
	object.SetDeletionGracePeriodSeconds(nil)
	object.SetSelfLink("")
}

// setDefaults removes unknown fields of a custom resource, and sets the defaults of its schema.
func setDefaults(object *unstructured.Unstructured, crd apiextensionsv1.CustomResourceDefinition) error {
	version := object.GroupVersionKind().Version
	i := slices.IndexFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == version })
	if i < 0 || crd.Spec.Versions[i].Schema == nil {
		return nil
	}
	var internal apiextensions.CustomResourceValidation
	if err := apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(crd.Spec.Versions[i].Schema, &internal, nil); err != nil {
		return err
	}
	structural, err := structuralschema.NewStructural(internal.OpenAPIV3Schema)
	if err != nil {
		return fmt.Errorf("CustomResourceDefinition %s, version %s: %w", crd.Name, version, err)
	}
	if !crd.Spec.PreserveUnknownFields {
		pruning.Prune(object.Object, structural, true)
	}
	defaulting.PruneNonNullableNullsWithoutDefaults(object.Object, structural)
	defaulting.Default(object.Object, structural)
	return nil
}

// versioned returns the attributes with both objects in the version that a webhook or policy is registered for.
func (s Snapshot) versioned(attr admission.Attributes, kind schema.GroupVersionKind) (*admission.VersionedAttributes, error) {
	versioned := &admission.VersionedAttributes{Attributes: attr, VersionedKind: kind}
	var err error
	if object := attr.GetObject(); object != nil {
		if versioned.VersionedObject, err = s.converted(object, kind); err != nil {
			return nil, err
		}
	}
	if old := attr.GetOldObject(); old != nil {
		versioned.VersionedOldObject, err = s.converted(old, kind)
	}
	return versioned, err
}

// converted returns an error if only the API server, or a conversion webhook, can convert the object.
func (s Snapshot) converted(object runtime.Object, kind schema.GroupVersionKind) (runtime.Object, error) {
	from := object.GetObjectKind().GroupVersionKind()
	if from == kind {
		return object, nil
	}
	custom, isCustom := object.(*unstructured.Unstructured)
	crd := s.definition(kind.GroupKind())
	if !isCustom || crd == nil || crd.Spec.Conversion != nil && crd.Spec.Conversion.Strategy == apiextensionsv1.WebhookConverter {
		return nil, fmt.Errorf("the object would have to be converted from %s to %s", from.GroupVersion(), kind.GroupVersion())
	}
	custom = custom.DeepCopy()
	custom.SetGroupVersionKind(kind)
	return custom, nil
}
