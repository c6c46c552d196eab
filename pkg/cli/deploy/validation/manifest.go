package validation

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
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/deploy"
)

// ValidateManifest validates metadata, and all fields in the schema of a definition, of an object whose namespace or
// definition does not exist yet. Created reports whether the installation creates what is missing.
func ValidateManifest(ctx context.Context, o *unstructured.Unstructured, definition *apiextensionsv1.CustomResourceDefinition, created bool) error {
	if !created {
		return fmt.Errorf("%s: its namespace or the definition of its kind %s does not exist, and the bundle does not bring it", deploy.Title(o), groupkind.Of(o))
	}
	metadata := field.NewPath("metadata")
	errs := nameErrors(o, metadata.Child("name"))
	errs = append(errs, metav1validation.ValidateLabels(o.GetLabels(), metadata.Child("labels"))...)
	errs = append(errs, apivalidation.ValidateAnnotations(o.GetAnnotations(), metadata.Child("annotations"))...)
	if definition != nil {
		s, err := schemaOf(definition, o.GroupVersionKind().Version)
		if err != nil {
			return err
		}
		if s != nil {
			errs = append(errs, s.validate(ctx, o.DeepCopy().Object)...)
		}
	}
	if len(errs) == 0 {
		return nil
	}
	return fmt.Errorf("%s: %w", deploy.Title(o), errors.Join(errs.ToAggregate()))
}

func nameErrors(o *unstructured.Unstructured, at *field.Path) field.ErrorList {
	validate := apivalidation.NameIsDNSSubdomain
	switch kind := groupkind.Of(o); {
	case kind.Group == "rbac.authorization.k8s.io":
		validate = func(name string, _ bool) []string { return content.IsPathSegmentName(name) }
	case kind == groupkind.Namespace:
		validate = apivalidation.ValidateNamespaceName
	case kind == groupkind.Service:
		validate = apivalidation.NameIsDNS1035Label
	default:
	}
	return lists.Map(validate(o.GetName(), false), func(message string) *field.Error { return field.Invalid(at, o.GetName(), message) })
}
