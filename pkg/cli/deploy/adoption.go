package deploy

import (
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// CheckAdoptions returns an error for values of --adopt that name no object of an installation or removal.
func CheckAdoptions(adopted []string, objects ...[]*unstructured.Unstructured) error {
	all := slices.Concat(objects...)
	var wrong []error
	for _, reference := range adopted {
		if !slices.ContainsFunc(all, func(o *unstructured.Unstructured) bool { return Reference(o) == reference }) {
			wrong = append(wrong, fmt.Errorf("--adopt %s: the bundle has no such object; name it as KIND.GROUP/NAMESPACE/NAME, as the command without --adopt does", reference))
		}
	}
	return errors.Join(wrong...)
}

// ObjectsOf returns the objects of steps.
func ObjectsOf(steps []Step) (objects []*unstructured.Unstructured) {
	for _, s := range steps {
		objects = append(objects, s.Object)
	}
	return objects
}
