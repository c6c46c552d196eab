package bundle

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"

	strictjson "sigs.k8s.io/json"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/jsonfields"
)

const typeRemedy = "write a value of the type that the field has. The other checks of the object follow when it is correct"

// wrongTypes reports each value of an object that its field does not accept. Decoding reports the first one only.
func (r *reader) wrongTypes(o *Object, t reflect.Type, decoding error) {
	if !r.searchWrongTypes(o, o.Object, t, nil) {
		r.addProblem(Undecodable, o.File, o.firstLine, fmt.Sprintf("is no valid %s: %s; the API server refuses it", o.GetKind(), decodingError(decoding)), typeRemedy)
	}
}

// searchWrongTypes walks the object and the type, as prune does, and reports whether it found a wrong type.
func (r *reader) searchWrongTypes(o *Object, value any, t reflect.Type, at keyPath) (found bool) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if children := childTypes(value, t); children != nil {
		for _, key := range children {
			found = r.searchWrongTypes(o, key.value, key.of, append(at, key.name)) || found
		}
		return found
	}
	err := decodeAs(value, t)
	if err == nil || r.full(Undecodable, o.File) {
		return err != nil
	}
	detail := "is not accepted: " + decodingError(err)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		detail = fmt.Sprintf("is a %s and has to be a %s", wrong.Value, wrong.Type)
	}
	r.report(Problem{Kind: Undecodable, File: o.File, Line: o.lineAt(at), Path: at.String(), Detail: detail + ": the API server refuses the object", Remedy: typeRemedy})
	return true
}

type child struct {
	name  string
	value any
	of    reflect.Type
}

// childTypes returns the values in a mapping or a list, with their types; nil for a value that is decoded as a whole.
func childTypes(value any, t reflect.Type) []child {
	if t.Implements(decodesItself) || reflect.PointerTo(t).Implements(decodesItself) {
		return nil
	}
	children := []child{}
	switch value := value.(type) {
	case map[string]any:
		if t.Kind() != reflect.Struct && t.Kind() != reflect.Map {
			return nil
		}
		for _, key := range slices.Sorted(maps.Keys(value)) {
			if of := typeOfKey(t, key); of != nil {
				children = append(children, child{key, value[key], of})
			}
		}
	case []any:
		if t.Kind() != reflect.Slice && t.Kind() != reflect.Array {
			return nil
		}
		for i, item := range value {
			children = append(children, child{strconv.Itoa(i), item, t.Elem()})
		}
	default:
		return nil
	}
	return children
}

func typeOfKey(t reflect.Type, key string) reflect.Type {
	if t.Kind() == reflect.Map {
		return t.Elem()
	}
	return jsonfields.Of(t)[key]
}

func decodeAs(value any, t reflect.Type) error {
	content, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return strictjson.UnmarshalCaseSensitivePreserveInts(content, reflect.New(t).Interface())
}
