package apiserver

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// typeConverter is for built-in kinds. client-go has no types for reviews and for Scale, which are never stored: for them the type
// is deduced. None of them has a field that this changes.
type typeConverter struct{ known, deduced managedfields.TypeConverter }

func (c typeConverter) of(object runtime.Object) managedfields.TypeConverter {
	switch object.GetObjectKind().GroupVersionKind().Group {
	case "authentication.k8s.io", "authorization.k8s.io", "autoscaling":
		return c.deduced
	}
	return c.known
}

func (c typeConverter) ObjectToTyped(object runtime.Object, options ...typed.ValidationOptions) (*typed.TypedValue, error) {
	return c.of(object).ObjectToTyped(object, options...)
}

func (c typeConverter) TypedToObject(value *typed.TypedValue) (runtime.Object, error) {
	return c.known.TypedToObject(value)
}
