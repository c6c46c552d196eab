package hosting

import (
	"encoding/json"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
)

// changed returns the two objects without what is the same in both. Most handlers change
// a label or a container, and to turn the rest into trees only to see that it is the same
// would cost more than all else that is done for a call.
//
// The objects are copies as far as they differ from those given, which stay as they are.
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

// clearEqual sets to zero the fields that two structs have in common.
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

// plainStruct says whether a type is a struct whose fields go into JSON one by one.
func plainStruct(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && !reflect.PointerTo(t).Implements(reflect.TypeFor[json.Marshaler]())
}
