package apiserver

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// reviews is a type converter for built-in kinds. client-go has no types for reviews, which are never stored: for them the type is
// deduced.
type reviews struct{ known, deduced managedfields.TypeConverter }

func (r reviews) of(object runtime.Object) managedfields.TypeConverter {
	switch object.GetObjectKind().GroupVersionKind().Group {
	case "authentication.k8s.io", "authorization.k8s.io":
		return r.deduced
	}
	return r.known
}

func (r reviews) ObjectToTyped(object runtime.Object, options ...typed.ValidationOptions) (*typed.TypedValue, error) {
	return r.of(object).ObjectToTyped(object, options...)
}

func (r reviews) TypedToObject(value *typed.TypedValue) (runtime.Object, error) {
	return r.known.TypedToObject(value)
}
