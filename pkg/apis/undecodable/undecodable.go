// Package undecodable removes what a Go type does not decode from a JSON value. API servers accept more than Go types do: the format
// date-time of a definition permits small letters, and a definition can leave fields open.
package undecodable

import (
	"encoding/json"
	"reflect"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/jsonfields"
)

// Remove removes the fields and items of an object that a struct of the type does not decode, and returns how many. Fields that the
// type does not have stay.
func Remove(object map[string]any, into reflect.Type) (removed int) {
	r := remover{}
	r.decodable(object, into)
	return r.removed
}

type remover struct{ removed int }

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

// decodable removes what cannot be decoded within a value. ok is false if the value itself cannot be decoded.
func (r *remover) decodable(value any, t reflect.Type) (decoded any, ok bool) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if value == nil || t.Kind() == reflect.Interface {
		return value, true
	}
	object, isObject := value.(map[string]any)
	items, isList := value.([]any)
	switch kind := t.Kind(); {
	case reflect.PointerTo(t).Implements(unmarshaler):
		return value, decodes(value, t)
	case kind == reflect.Struct && isObject:
		known := jsonfields.Of(t)
		r.fields(object, func(key string) reflect.Type { return known[key] })
		return object, true
	case kind == reflect.Map && isObject:
		r.fields(object, func(string) reflect.Type { return t.Elem() })
		return object, true
	case kind == reflect.Slice && isList:
		return r.items(items, t.Elem()), true
	default:
		return value, decodes(value, t)
	}
}

func (r *remover) fields(object map[string]any, typeOf func(key string) reflect.Type) {
	for key, value := range object {
		t := typeOf(key)
		if t == nil {
			continue
		}
		if decoded, ok := r.decodable(value, t); ok {
			object[key] = decoded
			continue
		}
		delete(object, key)
		r.removed++
	}
}

func (r *remover) items(items []any, t reflect.Type) []any {
	kept := []any{}
	for _, item := range items {
		if decoded, ok := r.decodable(item, t); ok {
			kept = append(kept, decoded)
			continue
		}
		r.removed++
	}
	return kept
}

func decodes(value any, t reflect.Type) bool {
	text, err := json.Marshal(value)
	return err == nil && json.Unmarshal(text, reflect.New(t).Interface()) == nil
}
