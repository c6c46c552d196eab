// Package jsonpatch computes the patch of a mutating webhook.
package jsonpatch

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
)

// ForReview returns the JSON patch (RFC 6902) that turns the object in the body of an
// AdmissionReview into the object that the handler changed, or nil if it changed nothing.
//
// The patch is the difference between the objects before and after the handler, applied to the
// body. The object in the body may have fields that the handler's Go type does not have. A
// difference between the body and the changed object would remove them.
func ForReview(body []byte, before, after runtime.Object) ([]byte, error) {
	before, after = changed(before, after)
	was, wasErr := runtime.DefaultUnstructuredConverter.ToUnstructured(before)
	is, isErr := runtime.DefaultUnstructuredConverter.ToUnstructured(after)
	if err := cmp.Or(wasErr, isErr); err != nil || reflect.DeepEqual(was, is) {
		return nil, err
	}
	var p patch
	sent := text(bytes.TrimSpace(body)).members()["request"].members()["object"]
	p.fields("", sent, was, is)
	if len(p) == 0 {
		return nil, nil
	}
	return json.Marshal(p)
}

type patch []operation

type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value *any   `json:"value,omitempty"` // nil to remove; a value may be null
}

func (p *patch) remove(path string) { *p = append(*p, operation{"remove", path, nil}) }

func (p *patch) add(path string, value any) { *p = append(*p, operation{"add", path, &value}) }

func (p *patch) replace(path string, value any) { *p = append(*p, operation{"replace", path, &value}) }

func (p *patch) fields(path string, sent text, was, is map[string]any) {
	members := sent.members()
	for _, key := range slices.Sorted(maps.Keys(was)) {
		_, stays := is[key]
		if _, ok := members[key]; ok && !stays {
			p.remove(join(path, key))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(is)) {
		before, had := was[key]
		there, ok := members[key]
		switch {
		case ok && had:
			p.value(join(path, key), there, before, is[key])
		case ok:
			p.replace(join(path, key), is[key])
		case !had || !reflect.DeepEqual(before, is[key]):
			p.add(join(path, key), is[key])
		}
	}
}

func (p *patch) value(path string, sent text, was, is any) {
	switch is := is.(type) {
	case map[string]any:
		if was, ok := was.(map[string]any); ok && sent.is('{') {
			p.fields(path, sent, was, is)
			return
		}
	case []any:
		elements := sent.elements()
		if was, ok := was.([]any); ok && elements != nil && len(elements) == len(was) {
			p.elements(path, elements, was, is)
			return
		}
	}
	if !reflect.DeepEqual(was, is) {
		p.replace(path, is)
	}
}

// elements patches elements that stay in place, and adds or removes some at the end. Otherwise it replaces the list.
func (p *patch) elements(path string, sent []text, was, is []any) {
	origin := origins(was, is)
	if !inPlace(origin, len(was)) {
		p.replace(path, mergeElements(sent, was, is, origin))
		return
	}
	common := min(len(was), len(is))
	for i := range common {
		p.value(join(path, strconv.Itoa(i)), sent[i], was[i], is[i])
	}
	for i := len(was) - 1; i >= common; i-- {
		p.remove(join(path, strconv.Itoa(i)))
	}
	for _, element := range is[common:] {
		p.add(join(path, "-"), element)
	}
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

// join extends a JSON pointer (RFC 6901).
func join(path, key string) string { return path + "/" + pointerEscapes.Replace(key) }

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
