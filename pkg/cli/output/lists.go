package output

import (
	"encoding/json"
	"reflect"
)

// withLists makes nil lists empty: programs that read a document iterate over its lists, and null is no list.
func withLists(v any) any {
	if v == nil {
		return nil
	}
	return filled(reflect.ValueOf(v)).Interface()
}

var encodesItself = reflect.TypeFor[json.Marshaler]()

func filled(v reflect.Value) reflect.Value {
	t := v.Type()
	mayBeNil := v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer || v.Kind() == reflect.Map
	if t.Implements(encodesItself) || reflect.PointerTo(t).Implements(encodesItself) || mayBeNil && v.IsNil() {
		return v
	}
	switch v.Kind() {
	case reflect.Interface:
		return filled(v.Elem())
	case reflect.Pointer:
		pointer := reflect.New(t.Elem())
		pointer.Elem().Set(filled(v.Elem()))
		return pointer
	case reflect.Slice:
		return filledSlice(v)
	case reflect.Map:
		return filledMap(v)
	case reflect.Struct:
		return filledStruct(v)
	default:
		return v
	}
}

func filledSlice(v reflect.Value) reflect.Value {
	if v.Type().Elem().Kind() == reflect.Uint8 {
		return v // A text in base64.
	}
	list := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
	for i := range v.Len() {
		list.Index(i).Set(filled(v.Index(i)))
	}
	return list
}

func filledMap(v reflect.Value) reflect.Value {
	entries := reflect.MakeMapWithSize(v.Type(), v.Len())
	for key, value := range v.Seq2() {
		entries.SetMapIndex(key, filled(value))
	}
	return entries
}

func filledStruct(v reflect.Value) reflect.Value {
	fields := reflect.New(v.Type()).Elem()
	fields.Set(v)
	for i := range v.NumField() {
		if v.Type().Field(i).IsExported() {
			fields.Field(i).Set(filled(v.Field(i)))
		}
	}
	return fields
}
