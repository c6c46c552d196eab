// Package convert converts Caches between v1 and v2 without loss. It is pure: values in,
// values out.
//
// What one version says and the other has no field for travels in an annotation: v2 knows
// zones, v1 knows none, so an object that is read in v1 has its zones in the annotation
// of v2, and gets them back from there when it is read in v2. That is true of fields
// too that do not exist today: values that the fields below do not have are kept.
//
// Users can write annotations, too. What the schema of a version refuses is not restored from one: it
// stays in the annotation. An annotation that an object of a version already has under the name of that version
// is the user's own, and is restored unchanged.
package convert

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Group, Kind and Resource are what Caches are called in every version.
const (
	Group    = "crdconversion.example.com"
	Kind     = "Cache"
	Resource = "caches"
)

// The versions of Caches.
var (
	V1 = schema.GroupVersion{Group: Group, Version: "v1"}
	V2 = schema.GroupVersion{Group: Group, Version: "v2"}
)

// The annotations hold, as JSON, what of a version's spec the other version has no fields for.
const (
	V1Annotation = Group + "/v1-spec"
	V2Annotation = Group + "/v2-spec"
)

// ToV2 fills a Cache of v2, which has its metadata already, from one of v1.
func ToV2(from, to *unstructured.Unstructured) error {
	return convert(from, to, direction{
		translate: func(f field, from, to values) { f.toV2(from, to) },
		keep:      V1Annotation,
		kept:      v1Spec,
		restore:   V2Annotation,
		restored:  v2Spec,
	})
}

// ToV1 fills a Cache of v1, which has its metadata already, from one of v2.
func ToV1(from, to *unstructured.Unstructured) error {
	return convert(from, to, direction{
		translate: func(f field, from, to values) { f.toV1(from, to) },
		keep:      V2Annotation,
		kept:      v2Spec,
		restore:   V1Annotation,
		restored:  v1Spec,
	})
}

// direction is one of the two ways.
type direction struct {
	translate func(f field, from, to values)
	// keep is the annotation that gets what is not translated, and restore the one that
	// has what was not translated on the way here.
	keep, restore string
	// kept and restored are the schemas of what is in them.
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
		return nil // there is nothing to translate, and nothing to lose
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
		annotations = nil // as the API server has it
	}
	to.SetAnnotations(annotations)
	return nil
}
