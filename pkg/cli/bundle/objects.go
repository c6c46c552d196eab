package bundle

import (
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/groupkind"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
)

// otherObjects returns the objects except the ClusterServiceVersion, by the order in which they are applied.
func (i installation) otherObjects() (definitions, accounts, rest []*unstructured.Unstructured) {
	for _, o := range i.Objects {
		if o == i.CSVObject {
			continue
		}
		object := i.installable(o)
		switch groupkind.Of(o) {
		case groupkind.CustomResourceDefinition:
			i.declareConversion(object)
			definitions = append(definitions, object)
		case groupkind.ServiceAccount:
			accounts = append(accounts, object)
		default:
			rest = append(rest, object)
		}
	}
	return definitions, accounts, rest
}

func (i installation) installable(o *Object) *unstructured.Unstructured {
	object := o.DeepCopy()
	unstructured.RemoveNestedField(object.Object, "status")
	unstructured.RemoveNestedField(object.Object, "metadata", "creationTimestamp")
	object.SetNamespace("")
	if i.namespaced(groupkind.Of(object)) {
		object.SetNamespace(i.Namespace)
	}
	completeSubjects(object, i.Namespace)
	return object
}

// declareConversion replaces the conversion webhook of a definition for which the ClusterServiceVersion declares one:
// the manager sets up the declared one, and the notice shows it alone.
func (i installation) declareConversion(definition *unstructured.Unstructured) {
	crd, ok := Typed(definition).(*apiextensionsv1.CustomResourceDefinition)
	if !ok || crd.Spec.Conversion == nil || crd.Spec.Conversion.Strategy != apiextensionsv1.WebhookConverter {
		return
	}
	csv := *i.CSV
	csv.Namespace = i.Namespace
	pending := csvspec.PendingConversion(&csv, crd)
	if pending == nil {
		return
	}
	conversion, err := runtime.DefaultUnstructuredConverter.ToUnstructured(pending)
	if err != nil {
		panic(err) // it is an API type
	}
	definition.Object["spec"].(map[string]any)["conversion"] = conversion
}

// namespaced uses the bundle's own definition, the known kinds, or the cluster. An unknown kind is namespaced.
func (i installation) namespaced(kind schema.GroupKind) bool {
	for _, crd := range i.CRDs() {
		if crd.Spec.Group == kind.Group && crd.Spec.Names.Kind == kind.Kind {
			return crd.Spec.Scope != apiextensionsv1.ClusterScoped
		}
	}
	if groupkind.ClusterScoped(kind) {
		return false
	}
	namespaced, answered := i.Namespaced[kind]
	return namespaced || !answered
}

// dropNulls removes null fields: the API server refuses them when an object is applied.
func dropNulls(in any) {
	switch value := in.(type) {
	case map[string]any:
		for key, field := range value {
			if field == nil {
				delete(value, key)
			}
			dropNulls(field)
		}
	case []any:
		for _, item := range value {
			dropNulls(item)
		}
	}
}

// completeSubjects sets the namespace of ServiceAccounts in a binding if the author left it out.
func completeSubjects(object *unstructured.Unstructured, namespace string) {
	if object.GroupVersionKind().Group != rbacv1.GroupName {
		return
	}
	subjects, _ := object.Object["subjects"].([]any)
	for _, s := range subjects {
		subject, ok := s.(map[string]any)
		if ok && subject["kind"] == "ServiceAccount" && (subject["namespace"] == nil || subject["namespace"] == "") {
			subject["namespace"] = namespace
		}
	}
}
