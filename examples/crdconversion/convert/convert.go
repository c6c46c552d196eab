// Package convert converts Caches between v1 and v2 without loss. It is pure: values in,
// values out.
//
// What one version says and the other has no field for travels in an annotation: v2 knows
// zones, v1 knows none, so an object that is read in v1 has its zones in the annotation
// of v2, and gets them back from there when it is read in v2. That is true of fields
// too that nobody knows today: whatever the fields below do not take is kept.
package convert

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
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
		restore:   V2Annotation,
	})
}

// ToV1 fills a Cache of v1, which has its metadata already, from one of v2.
func ToV1(from, to *unstructured.Unstructured) error {
	return convert(from, to, direction{
		translate: func(f field, from, to values) { f.toV1(from, to) },
		keep:      V2Annotation,
		restore:   V1Annotation,
	})
}

// direction is one of the two ways.
type direction struct {
	translate func(f field, from, to values)
	// keep is the annotation that gets what is not translated, and restore the one that
	// has what was not translated on the way here.
	keep, restore string
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
	result := restored(to, d.restore)
	for _, f := range fields {
		d.translate(f, rest, result)
	}
	to.Object["spec"] = map[string]any(result)
	return kept(to, d.keep, rest)
}

// restored takes an annotation away and returns what it says. One that says nothing was
// written by somebody else, and stays.
func restored(object *unstructured.Unstructured, annotation string) values {
	annotations := object.GetAnnotations()
	var spec map[string]any
	if err := json.Unmarshal([]byte(annotations[annotation]), &spec); err != nil || spec == nil {
		return values{}
	}
	delete(annotations, annotation)
	if len(annotations) == 0 {
		annotations = nil // as the API server has it
	}
	object.SetAnnotations(annotations)
	return spec
}

// kept leaves what was not translated in an annotation.
func kept(object *unstructured.Unstructured, annotation string, rest values) error {
	if len(rest) == 0 {
		return nil
	}
	text, err := json.Marshal(rest)
	if err != nil {
		return fmt.Errorf("keeping what the other version has no fields for: %w", err)
	}
	annotations := object.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[annotation] = string(text)
	object.SetAnnotations(annotations)
	return nil
}
