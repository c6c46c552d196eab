// Package jsonfields finds the fields of Go types by their names in JSON.
package jsonfields

import (
	"reflect"
	"strings"
)

// Of returns the types of a struct's fields by their names in JSON, with the fields of embedded structs.
func Of(t reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for i := range t.NumField() {
		field := t.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name == "-":
		case name == "" && field.Anonymous:
			embedded := field.Type
			if embedded.Kind() == reflect.Pointer {
				embedded = embedded.Elem()
			}
			for name, of := range Of(embedded) {
				if fields[name] == nil {
					fields[name] = of
				}
			}
		case !field.IsExported():
		case name == "":
			fields[field.Name] = field.Type
		default:
			fields[name] = field.Type
		}
	}
	return fields
}
