package deploy

import (
	"context"
	"errors"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/groupkind"
)

// RefuseUnasked checks an object that the API server cannot judge yet, because its namespace or its
// definition does not exist: its name, labels, annotations, and, by its definition, all its fields.
// Brought is whether the installation itself brings what is missing.
func RefuseUnasked(ctx context.Context, o *unstructured.Unstructured, definition *apiextensionsv1.CustomResourceDefinition, brought bool) error {
	if !brought {
		return fmt.Errorf("%s: its namespace or the definition of its kind %s does not exist, and the bundle does not bring it", Title(o), groupkind.Of(o))
	}
	metadata := field.NewPath("metadata")
	found := nameErrors(o, metadata.Child("name"))
	found = append(found, metav1validation.ValidateLabels(o.GetLabels(), metadata.Child("labels"))...)
	found = append(found, apivalidation.ValidateAnnotations(o.GetAnnotations(), metadata.Child("annotations"))...)
	if definition != nil {
		s, err := schemaOf(definition, o.GroupVersionKind().Version)
		if err != nil {
			return err
		}
		if s != nil {
			found = append(found, s.refuse(ctx, o.DeepCopy().Object)...)
		}
	}
	if len(found) == 0 {
		return nil
	}
	return fmt.Errorf("%s: %w", Title(o), errors.Join(found.ToAggregate()))
}

// nameErrors are those of an object's name. Roles and bindings may have more characters, a Namespace
// and a Service fewer.
func nameErrors(o *unstructured.Unstructured, at *field.Path) field.ErrorList {
	judge := apivalidation.NameIsDNSSubdomain
	switch kind := groupkind.Of(o); {
	case kind.Group == "rbac.authorization.k8s.io":
		judge = func(name string, _ bool) []string { return content.IsPathSegmentName(name) }
	case kind == groupkind.Namespace:
		judge = apivalidation.ValidateNamespaceName
	case kind == groupkind.Service:
		judge = apivalidation.NameIsDNS1035Label
	default:
	}
	var found field.ErrorList
	for _, message := range judge(o.GetName(), false) {
		found = append(found, field.Invalid(at, o.GetName(), message))
	}
	return found
}
