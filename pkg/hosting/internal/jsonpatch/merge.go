package jsonpatch

import (
	"encoding/json"
	"reflect"
)

// isNew is the origin of an element that was not in the previous list.
const isNew = -1

// origins returns the previous index of each element: of an equal one, one with its name, or an unnamed one in its place.
func origins(was, is []any) []int {
	m := newMatching(was, is)
	m.ends()
	m.byKey(canonical)
	m.byKey(nameOf)
	m.byIndex()
	return m.origin
}

// nameOf returns the name of an element, which is the key of most lists in the Kubernetes API.
func nameOf(element any) string {
	fields, _ := element.(map[string]any)
	name, _ := fields["name"].(string)
	return name
}

func inPlace(origin []int, length int) bool {
	for i, o := range origin {
		if i < length && o != i || i >= length && o != isNew {
			return false
		}
	}
	return true
}

// merge applies the difference between was and is to the text that was sent.
func merge(sent text, was, is any) any {
	if reflect.DeepEqual(was, is) {
		return json.RawMessage(sent)
	}
	switch is := is.(type) {
	case map[string]any:
		if was, ok := was.(map[string]any); ok && sent.is('{') {
			return mergeFields(sent.members(), was, is)
		}
	case []any:
		elements := sent.elements()
		if was, ok := was.([]any); ok && elements != nil && len(elements) == len(was) {
			return mergeElements(elements, was, is, origins(was, is))
		}
	}
	return is
}

func mergeFields(sent map[string]text, was, is map[string]any) map[string]any {
	merged := map[string]any{}
	for key, value := range sent {
		_, known := was[key]
		if _, stays := is[key]; stays || !known {
			merged[key] = json.RawMessage(value)
		}
	}
	for key, value := range is {
		before, had := was[key]
		if there, ok := sent[key]; ok {
			merged[key] = merge(there, before, value)
		} else if !had || !reflect.DeepEqual(before, value) {
			merged[key] = value
		}
	}
	return merged
}

func mergeElements(sent []text, was, is []any, origin []int) []any {
	merged := make([]any, len(is))
	for i, o := range origin {
		if o == isNew {
			merged[i] = is[i]
		} else {
			merged[i] = merge(sent[o], was[o], is[i])
		}
	}
	return merged
}
