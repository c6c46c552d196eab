// Package convert converts Caches between v1 and v2 without loss. It is pure. A value for which the
// other version has no field is kept in an annotation: v2 has zones and v1 has none, so the zones
// of an object that is read in v1 are in the annotation of v2, and are restored when it is read in
// v2. The same holds for fields that a later version may add. Users can write these annotations,
// too. A value that the schema of the version refuses is not restored: it stays in the annotation.
// An annotation that a user sets under a name of the converter is restored as it was.
package convert

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The API of the converted objects.
const (
	Group    = "crdconversion.example.com"
	Kind     = "Cache"
	Resource = "caches"
)

// The versions of the API.
var (
	V1 = schema.GroupVersion{Group: Group, Version: "v1"}
	V2 = schema.GroupVersion{Group: Group, Version: "v2"}
)

// The annotations hold, as JSON, the fields of a version's spec that the other version does not have.
const (
	V1Annotation = Group + "/v1-spec"
	V2Annotation = Group + "/v2-spec"
)

// ToV2 fills a Cache of v2 from one of v1. Its metadata is set already.
func ToV2(from, to *unstructured.Unstructured) error {
	return convert(from, to, field.toV2, formatV1, formatV2)
}

// ToV1 fills a Cache of v1 from one of v2. Its metadata is set already.
func ToV1(from, to *unstructured.Unstructured) error {
	return convert(from, to, field.toV1, formatV2, formatV1)
}

// format is the schema of a version's spec, and the annotation for its values that are not converted.
type format struct {
	spec       object
	annotation string
}

var formatV1, formatV2 = format{v1Spec, V1Annotation}, format{v2Spec, V2Annotation}

func convert(from, to *unstructured.Unstructured, translate func(f field, from, to values), source, target format) error {
	for key, value := range from.Object {
		switch key {
		case "apiVersion", "kind", "metadata", "spec":
		default:
			to.Object[key] = runtime.DeepCopyJSONValue(value)
		}
	}
	spec, ok := from.Object["spec"].(map[string]any)
	if !ok {
		return nil // nothing to convert
	}
	rest := values(runtime.DeepCopyJSON(spec))
	annotations := to.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	result := restored(annotations, target.annotation, target.spec)
	for _, f := range fields {
		translate(f, rest, result)
	}
	to.Object["spec"] = map[string]any(result)
	if err := kept(annotations, source.annotation, rest, source.spec); err != nil {
		return err
	}
	if len(annotations) == 0 {
		annotations = nil // like the API server
	}
	to.SetAnnotations(annotations)
	return nil
}
