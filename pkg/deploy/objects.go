package deploy

import (
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Invalidated says which objects, read in a version, the schema that the next definition
// has for that version would refuse: whoever writes them next would fail.
func Invalidated(next *apiextensionsv1.CustomResourceDefinition, version string, objects []unstructured.Unstructured) ([]string, error) {
	var refusals []string
	for _, v := range next.Spec.Versions {
		if v.Name != version || v.Schema == nil {
			continue
		}
		var schema apiextensions.CustomResourceValidation
		if err := apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(v.Schema, &schema, nil); err != nil {
			return nil, err
		}
		validator, _, err := validation.NewSchemaValidator(schema.OpenAPIV3Schema)
		if err != nil {
			return nil, fmt.Errorf("CustomResourceDefinition %s, version %s: %w", next.Name, version, err)
		}
		for _, o := range objects {
			if found := validation.ValidateCustomResource(nil, o.Object, validator); len(found) > 0 {
				refusals = append(refusals, fmt.Sprintf("%s %s/%s: the next schema of version %s refuses it: %v: change the object first", o.GetKind(), o.GetNamespace(), o.GetName(), version, found.ToAggregate()))
			}
		}
	}
	return refusals, nil
}
