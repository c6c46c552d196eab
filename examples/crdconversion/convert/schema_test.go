package convert_test

import (
	"math/rand/v2"
	"os"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"sigs.k8s.io/yaml"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/crdconversion/convert"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// The converter and the definition, by the code of API servers, allow the same random specs. Fields
// may be missing, because the other version holds them.
func TestSchemas(t *testing.T) {
	text, err := os.ReadFile("../bundle-v2/manifests/crdconversion.example.com_caches.yaml")
	installtest.Must(t, err)
	var crd apiextensionsv1.CustomResourceDefinition
	installtest.Must(t, yaml.UnmarshalStrict(text, &crd))
	for _, version := range crd.Spec.Versions {
		allowed, names := convert.AllowedInV1, v1Names
		if version.Name == "v2" {
			allowed, names = convert.AllowedInV2, v2Names
		}
		var props apiextensions.JSONSchemaProps
		installtest.Must(t, apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(version.Schema.OpenAPIV3Schema, &props, nil))
		spec := optional(props.Properties["spec"])
		validator, _, err := validation.NewSchemaValidator(&spec)
		installtest.Must(t, err)
		structural, err := structuralschema.NewStructural(&spec)
		installtest.Must(t, err)
		random, agreed := rand.New(rand.NewPCG(3, 4)), map[bool]int{}
		for range 20000 {
			value := throughJSON(t, randomSpec(random, names))
			want := len(validation.ValidateCustomResource(nil, value, validator)) == 0 && len(listtype.ValidateListSetsAndMaps(nil, structural, value)) == 0
			if got := allowed(value); got != want {
				t.Fatalf("%s allows %v: %t, and the definition allows it: %t", version.Name, value, got, want)
			}
			agreed[want]++
		}
		if agreed[true] < 100 || agreed[false] < 100 {
			t.Errorf("%s: %d specs are allowed and %d are not: this shows little", version.Name, agreed[true], agreed[false])
		}
	}
}

func randomSpec(random *rand.Rand, names []string) map[string]any {
	words := []any{"3x512Mi", "03x1Gi", "512Mi", "", "cert", "1.2", "lru", "Random", int64(0), int64(3), int64(65536), int64(10000), 0.5, true, nil, []any{"a", "b"}, []any{"a", "a"}, []any{}, []any{""}, []any{int64(1)}}
	value := words[random.IntN(len(words))]
	for range random.IntN(3) {
		value = map[string]any{names[random.IntN(len(names))]: value}
	}
	return map[string]any{names[random.IntN(len(names))]: value}
}

func optional(props apiextensions.JSONSchemaProps) apiextensions.JSONSchemaProps {
	props.Required = nil
	for name, inner := range props.Properties {
		props.Properties[name] = optional(inner)
	}
	return props
}
