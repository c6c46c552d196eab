package deploy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
)

func TestReadings(t *testing.T) {
	plain, hidden, nothing := &operatorsv1alpha1.ClusterServiceVersion{}, live("", "v1", "v0"), live("", "v1")
	hidden.Spec.Versions[0].Served, nothing.Spec.Versions[0].Served = false, false
	for name, test := range map[string]struct {
		live, next *apiextensionsv1.CustomResourceDefinition
		csv        *operatorsv1alpha1.ClusterServiceVersion
		want       []Reading
	}{
		"the same version":                        {live("", "v1"), crd("v1"), plain, []Reading{{"v1", []string{"v1"}}}},
		"one more, which is relabelled":           {live("", "v1"), crd("v2", "v1"), plain, []Reading{{"v1", []string{"v2", "v1"}}}},
		"one more, which a webhook converts":      {live("", "v1"), crd("v2", "v1"), converting(), []Reading{{"v1", []string{"v1"}}}},
		"two that were relabelled, until now":     {live("", "v1", "v0"), crd("v1", "v0"), converting(), []Reading{{"v1", []string{"v1", "v0"}}}},
		"two that a webhook converts":             {live("CA", "v1", "v0"), crd("v2", "v1", "v0"), converting(), []Reading{{"v1", []string{"v1"}}, {"v0", []string{"v0"}}}},
		"the stored one is not served":            {hidden, crd("v1", "v0"), plain, []Reading{{"v0", []string{"v1", "v0"}}}},
		"the stored one goes, and a webhook came": {live("", "v1", "v0"), crd("v0"), converting(), []Reading{{"v1", []string{"v0"}}}},
		"no version is served":                    {nothing, crd("v1"), plain, nil},
		"no version stays":                        {live("CA", "v1"), crd("v2"), converting(), nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, Readings(test.live, test.next, test.csv)); diff != "" {
				t.Errorf("readings (-want +got):\n%s", diff)
			}
		})
	}
}

// What is refused is named: the object, the field and the version. test/bundle asks a real API
// server the same of many schemas.
func TestFitting(t *testing.T) {
	next := crd("v2", "v1", "v0")
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
	f, err := NewFitting(next, Reading{"v1", []string{"v2", "v1", "v0", "v3"}})
	if err != nil {
		t.Fatal(err)
	}
	objects := []unstructured.Unstructured{object("good", 3), object("small", 0), object("large", 7)}
	got := strings.Join(f.Refuse(t.Context(), objects), "\n")
	want := strings.Join([]string{
		"Thing shop/small: the next schema of version v2 refuses it: size: Invalid value: 0: size in body should be greater than or equal to 1: change the object first",
		"Thing shop/small: the next schema of version v1 refuses it: size: Invalid value: 0: size in body should be greater than or equal to 1: change the object first",
		"Thing shop/large: the next schema of version v2 refuses it: <nil>: Invalid value: it is too large: change the object first",
	}, "\n")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("refusals (-want +got):\n%s", diff)
	}
	if fmt.Sprint(objects[0].Object["size"]) != "3" || objects[0].GetAPIVersion() != "example.com/v1" {
		t.Errorf("an object was changed: %+v", objects[0].Object)
	}
}
