package explain

import (
	"maps"
	"reflect"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/client-go/kubernetes/scheme"
)

// generatedName is the name of an object whose name the API server generates. No object can have it.
const generatedName = "<generated>"

// finalAttributes returns the request as the API server validates it, and the fields that are open. After the mutating steps
// the API server sets the fields that clients cannot set: Store.Create and BeforeCreate, or BeforeUpdate, of
// k8s.io/apiserver/pkg/registry.
func (s Snapshot) finalAttributes(attr admission.Attributes) (admission.Attributes, []openField, error) {
	if attr.GetObject() == nil || slices.Contains(notStored, attr.GetResource().GroupResource()) {
		return attr, nil, nil
	}
	object := attr.GetObject().DeepCopyObject()
	metadata, err := meta.Accessor(object)
	if err != nil {
		return nil, nil, err
	}
	name := attr.GetName()
	var fields []openField
	switch operation, subresource := attr.GetOperation(), attr.GetSubresource(); {
	case operation == admission.Create && subresource == "":
		fields = s.created(object, metadata)
		if name == "" {
			name = generatedName
		}
	case operation == admission.Update && subresource == "":
		fields, err = s.updated(object, attr.GetOldObject(), metadata)
	case operation == admission.Update && subresource == "status":
		object, fields, err = s.updatedStatus(object, attr.GetOldObject())
	default:
		return attr, nil, nil
	}
	return admission.NewAttributesRecord(object, attr.GetOldObject(), attr.GetKind(), attr.GetNamespace(), name, attr.GetResource(),
		attr.GetSubresource(), attr.GetOperation(), attr.GetOperationOptions(), attr.IsDryRun(), attr.GetUserInfo()), fields, err
}

// notStored are resources that the API server does not store: it sets no fields of their objects.
var notStored = append([]schema.GroupResource{{Resource: "bindings"}}, reviews...)

// Fields that the API server sets.
const (
	uid               = "object.metadata.uid"
	creationTimestamp = "object.metadata.creationTimestamp"
	objectName        = "object.metadata.name"
	requestName       = "request.name"
	generation        = "object.metadata.generation"
)

// created sets the known fields of a new object, and returns the open ones.
func (s Snapshot) created(object runtime.Object, metadata metav1.Object) []openField {
	fields := []openField{open(uid), open(creationTimestamp)}
	if metadata.GetName() == "" {
		fields = append(fields, open(objectName), open(requestName))
	}
	custom, crd := s.custom(object)
	if crd == nil {
		return append(append(fields, openStatus(object)...), optional(generation))
	}
	metadata.SetGeneration(1)
	if hasStatusSubresource(crd, custom) {
		delete(custom.Object, "status")
	}
	return fields
}

// updated sets the fields that a client cannot change, and returns the open ones.
func (s Snapshot) updated(object, old runtime.Object, metadata metav1.Object) ([]openField, error) {
	stored, err := meta.Accessor(old)
	if err != nil {
		return nil, err
	}
	keepSystemFields(metadata, stored)
	var fields []openField
	if metadata.SetGeneration(stored.GetGeneration()); !equality.Semantic.DeepEqual(object, old) {
		fields = append(fields, optional(generation))
	}
	custom, crd := s.custom(object)
	if crd == nil {
		same, err := sameField("status", object, old)
		if err != nil || same {
			return fields, err
		}
		return append(fields, openStatus(object)...), nil
	}
	if hasStatusSubresource(crd, custom) {
		setField(custom, "status", old.(*unstructured.Unstructured))
	}
	return fields, nil
}

func keepSystemFields(metadata, stored metav1.Object) {
	if metadata.GetUID() == "" {
		metadata.SetUID(stored.GetUID())
	}
	if created := stored.GetCreationTimestamp(); !created.IsZero() {
		metadata.SetCreationTimestamp(created)
	}
	if stored.GetDeletionTimestamp() != nil {
		metadata.SetDeletionTimestamp(stored.GetDeletionTimestamp())
	}
	if metadata.GetDeletionGracePeriodSeconds() == nil {
		metadata.SetDeletionGracePeriodSeconds(stored.GetDeletionGracePeriodSeconds())
	}
}

// updatedStatus returns the stored object with another status. What built-in kinds keep of metadata is not known: the
// function regards metadata as sent.
func (s Snapshot) updatedStatus(object, old runtime.Object) (runtime.Object, []openField, error) {
	custom, crd := s.custom(object)
	if crd == nil {
		same, err := sameField("spec", object, old)
		if err != nil || same {
			return object, []openField{optional(generation)}, err
		}
		return object, []openField{optional(generation), optional("object.spec")}, nil
	}
	final := old.DeepCopyObject().(*unstructured.Unstructured)
	final.SetManagedFields(custom.GetManagedFields())
	setField(final, "status", custom)
	return final, nil, nil
}

// custom returns a custom resource with its definition; nil for any other object.
func (s Snapshot) custom(object runtime.Object) (*unstructured.Unstructured, *apiextensionsv1.CustomResourceDefinition) {
	custom, isCustom := object.(*unstructured.Unstructured)
	if !isCustom {
		return nil, nil
	}
	return custom, s.definition(custom.GroupVersionKind().GroupKind())
}

func hasStatusSubresource(crd *apiextensionsv1.CustomResourceDefinition, custom *unstructured.Unstructured) bool {
	version := custom.GroupVersionKind().Version
	return slices.ContainsFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
		return v.Name == version && v.Subresources != nil && v.Subresources.Status != nil
	})
}

// setField sets a field to that of another object, which may lack it.
func setField(of *unstructured.Unstructured, field string, from *unstructured.Unstructured) {
	delete(of.Object, field)
	if value, exists := from.Object[field]; exists {
		of.Object[field] = runtime.DeepCopyJSONValue(value)
	}
}

func sameField(field string, object, old runtime.Object) (bool, error) {
	a, err := content(object)
	if err != nil {
		return false, err
	}
	b, err := content(old)
	return equality.Semantic.DeepEqual(a[field], b[field]), err
}

// openStatus is the status of a kind that has one. Built-in kinds have strategies that set it.
func openStatus(object runtime.Object) []openField {
	status := optional("object.status")
	if !scheme.Scheme.Recognizes(object.GetObjectKind().GroupVersionKind()) {
		return []openField{status}
	}
	field := reflect.ValueOf(object).Elem().FieldByName("Status")
	if !field.IsValid() {
		return nil
	}
	// API servers show expressions a struct also if it is empty.
	status.optional = field.Kind() != reflect.Struct
	return []openField{status}
}

// content returns a copy of the fields of an object, as expressions get them.
func content(object runtime.Object) (map[string]any, error) {
	return runtime.DefaultUnstructuredConverter.ToUnstructured(object.DeepCopyObject())
}

// changed returns a copy of the fields of an object with a change of the field at a path. The copy shares all other fields.
func changed(object map[string]any, path []string, change func(parent map[string]any, key string)) map[string]any {
	copied := cloned(object)
	parent, last := copied, len(path)-1
	for _, key := range path[:last] {
		inner, _ := parent[key].(map[string]any)
		inner = cloned(inner)
		parent[key], parent = inner, inner
	}
	change(parent, path[last])
	return copied
}

func cloned(fields map[string]any) map[string]any {
	if fields == nil {
		return map[string]any{}
	}
	return maps.Clone(fields)
}
