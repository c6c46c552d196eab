package validation

import (
	"fmt"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/deploy"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// A definition with more rules than are compiled is refused at once.
func TestRulesAreLimited(t *testing.T) {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	crd.Name = "things.example.com"
	crd.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
		Type: "object", XValidations: apiextensionsv1.ValidationRules{{Rule: "[" + strings.Repeat("1,", 500_000) + "1] != []"}},
	}}}}
	_, err := NewValidator(crd, deploy.Reading{Version: "v1", Fits: []string{"v1"}})
	installtest.Error(t, "things.example.com, version v1, have more expressions in CEL than are compiled here (64 KiB)", err)
}

// A message names the object, the field and the version. test/bundle compares many schemas with a real API server.
func TestValidator(t *testing.T) {
	next := &apiextensionsv1.CustomResourceDefinition{}
	for _, version := range []string{"v2", "v1", "v0"} {
		next.Spec.Versions = append(next.Spec.Versions, apiextensionsv1.CustomResourceDefinitionVersion{Name: version, Served: true})
	}
	smallest := 1.0
	for i, rule := range []string{"self.size < 5", "true"} {
		next.Spec.Versions[i].Schema = &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
			Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"size": {Type: "integer", Minimum: &smallest}},
			XValidations: apiextensionsv1.ValidationRules{{Rule: rule, Message: "it is too large"}},
		}}
	}
	object := func(name string, size int64) unstructured.Unstructured {
		return unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Thing", "metadata": map[string]any{"namespace": "shop", "name": name}, "size": size}}
	}
	v := installtest.OrPanic(NewValidator(next, deploy.Reading{Version: "v1", Fits: []string{"v2", "v1", "v0", "v3"}}))
	objects := []unstructured.Unstructured{object("good", 3), object("small", 0), object("large", 7)}
	got := strings.Join(v.Validate(t.Context(), objects), "\n")
	want := strings.Join([]string{
		"Thing.example.com shop/small: the next schema of version v2 refuses it: size: Invalid value: 0: size in body should be greater than or equal to 1: change the object first",
		"Thing.example.com shop/small: the next schema of version v1 refuses it: size: Invalid value: 0: size in body should be greater than or equal to 1: change the object first",
		"Thing.example.com shop/large: the next schema of version v2 refuses it: <nil>: Invalid value: it is too large: change the object first",
	}, "\n")
	installtest.Same(t, "refusals", want, got)
	installtest.Same(t, "the size of the object itself", "3", fmt.Sprint(objects[0].Object["size"]))
	installtest.Same(t, "the version of the object itself", "example.com/v1", objects[0].GetAPIVersion())
}
