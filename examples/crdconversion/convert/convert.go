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
	return convert(from, to, direction{
		translate: func(f field, from, to values) { f.toV2(from, to) },
		keep:      V1Annotation,
		kept:      v1Spec,
		restore:   V2Annotation,
		restored:  v2Spec,
	})
}

// ToV1 fills a Cache of v1 from one of v2. Its metadata is set already.
func ToV1(from, to *unstructured.Unstructured) error {
	return convert(from, to, direction{
		translate: func(f field, from, to values) { f.toV1(from, to) },
		keep:      V2Annotation,
		kept:      v2Spec,
		restore:   V1Annotation,
		restored:  v1Spec,
	})
}

type direction struct {
	translate func(f field, from, to values)
	// keep is the annotation for values that are not converted. restore is the annotation with
	// values that the conversion in the other direction kept.
	keep, restore  string
	kept, restored object
}

func convert(from, to *unstructured.Unstructured, d direction) error {
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
	result := restored(annotations, d.restore, d.restored)
	for _, f := range fields {
		d.translate(f, rest, result)
	}
	to.Object["spec"] = map[string]any(result)
	if err := kept(annotations, d.keep, rest, d.kept); err != nil {
		return err
	}
	if len(annotations) == 0 {
		annotations = nil // like the API server
	}
	to.SetAnnotations(annotations)
	return nil
}
