package bundle

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	strictjson "sigs.k8s.io/json"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install"
)

// dropUnknownFields removes from an object the fields that its type does not have.
func (b *Bundle) dropUnknownFields(o *Object, target any) {
	for _, unknown := range prune(o.Object, target) {
		wayOut := "correct or remove it"
		if unknown.meant != "" {
			wayOut = fmt.Sprintf("write %s, or remove it", unknown.meant)
		}
		b.Problems = append(b.Problems, Problem{
			Kind: UnknownField, File: o.File, Line: o.lineAt(unknown.at), Object: o, Path: unknown.at.String(),
			Detail: fmt.Sprintf("is no field of a %s: the API server drops it, or refuses the object", o.GetKind()), WayOut: wayOut,
		})
	}
}

// decodeInto decodes the object as it is applied.
func (o *Object) decodeInto(target any) error {
	content, err := json.Marshal(o.Object)
	if err != nil {
		return err
	}
	return strictjson.UnmarshalCaseSensitivePreserveInts(content, target)
}

// unknownField is a field that a type does not have.
type unknownField struct {
	at keyPath
	// meant is the field with the most similar name; empty if none is similar.
	meant string
}

// prune removes from an object the fields that its Go type does not have, and returns them. It
// walks the object and the type: a text such as "spec.rules[0]" may be a path, or a key.
func prune(fields map[string]any, to any) []unknownField {
	return pruneValue(fields, reflect.TypeOf(to), nil)
}

// keyPath leads to a field: the keys of mappings and the indexes of lists.
type keyPath []string

// String is the path as messages have it: "spec.rules[0]", and "metadata.annotations[example.com/key]"
// for keys that are no plain names.
func (p keyPath) String() string {
	var text strings.Builder
	for _, key := range p {
		switch {
		case strings.ContainsAny(key, ".[] ") || isIndex(key):
			text.WriteString("[" + key + "]")
		case text.Len() > 0:
			text.WriteString("." + key)
		default:
			text.WriteString(key)
		}
	}
	return text.String()
}

func isIndex(key string) bool {
	_, err := strconv.Atoi(key)
	return err == nil
}

var decodesItself = reflect.TypeFor[json.Unmarshaler]()

// pruneValue does not look into types that decode themselves: what they accept is not written in
// their fields.
func pruneValue(value any, t reflect.Type, at keyPath) []unknownField {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Implements(decodesItself) || reflect.PointerTo(t).Implements(decodesItself) {
		return nil
	}
	switch value := value.(type) {
	case map[string]any:
		return pruneMapping(value, t, at)
	case []any:
		if t.Kind() != reflect.Slice && t.Kind() != reflect.Array {
			return nil // Decoding reports the wrong type.
		}
		var unknown []unknownField
		for i, item := range value {
			unknown = append(unknown, pruneValue(item, t.Elem(), step(at, strconv.Itoa(i)))...)
		}
		return unknown
	default:
		return nil
	}
}

func pruneMapping(value map[string]any, t reflect.Type, at keyPath) []unknownField {
	var typeOf func(key string) (reflect.Type, bool)
	switch t.Kind() {
	case reflect.Map:
		typeOf = func(string) (reflect.Type, bool) { return t.Elem(), true }
	case reflect.Struct:
		known := fieldsOf(t)
		typeOf = func(key string) (reflect.Type, bool) { of, ok := known[key]; return of, ok }
	default:
		return nil // Decoding reports the wrong type.
	}
	var unknown []unknownField
	for _, key := range slices.Sorted(maps.Keys(value)) {
		of, known := typeOf(key)
		if !known {
			delete(value, key)
			unknown = append(unknown, unknownField{at: step(at, key), meant: meant(key, t)})
			continue
		}
		unknown = append(unknown, pruneValue(value[key], of, step(at, key))...)
	}
	return unknown
}

// meant is the field of a struct that a misspelled key is most similar to.
func meant(key string, t reflect.Type) string {
	return install.Nearest(key, slices.Sorted(maps.Keys(fieldsOf(t))))
}

// step does not share memory with the path that it extends.
func step(at keyPath, key string) keyPath { return append(slices.Clone(at), key) }

// fieldsOf are the fields of a struct by their names in JSON, with those of embedded structs.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
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
			for name, of := range fieldsOf(embedded) {
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
