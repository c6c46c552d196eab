package jsonpatch

import (
	"encoding/json"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
)

// changed removes the fields that are equal in both objects from copies: most handlers change little, and to convert
// the other fields to maps would take longer than the rest of the call.
func changed(before, after runtime.Object) (was, is runtime.Object) {
	a, b := reflect.ValueOf(before), reflect.ValueOf(after)
	if a.Type() != b.Type() || a.Kind() != reflect.Pointer || !plainStruct(a.Type().Elem()) {
		return before, after
	}
	a, b = shallowCopy(a), shallowCopy(b)
	clearEqual(a.Elem(), b.Elem())
	return a.Interface().(runtime.Object), b.Interface().(runtime.Object)
}

func shallowCopy(pointer reflect.Value) reflect.Value {
	c := reflect.New(pointer.Type().Elem())
	c.Elem().Set(pointer.Elem())
	return c
}

func clearEqual(a, b reflect.Value) {
	for i := range a.NumField() {
		x, y := a.Field(i), b.Field(i)
		switch {
		case !x.CanSet():
		case reflect.DeepEqual(x.Addr().Interface(), y.Addr().Interface()):
			x.SetZero()
			y.SetZero()
		case plainStruct(x.Type()):
			clearEqual(x, y)
		}
	}
}

// plainStruct reports whether a type is a struct whose fields are encoded to JSON one by one.
func plainStruct(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && !reflect.PointerTo(t).Implements(reflect.TypeFor[json.Marshaler]())
}
