package hosting

import (
	"encoding/json"
	"reflect"
)

// isNew is the origin of an element that was not in the list before.
const isNew = -1

// origins tells for each element of a list where it was in the list before: an equal
// one, else one of the same name, else, if elements have no names, the one in its place.
func origins(was, is []any) []int {
	m := newMatching(was, is)
	m.ends()
	m.by(canonical)
	m.by(nameOf)
	m.places()
	return m.origin
}

// nameOf returns what most lists of the Kubernetes API are keyed by.
func nameOf(element any) string {
	fields, _ := element.(map[string]any)
	name, _ := fields["name"].(string)
	return name
}

// inPlace says whether no element has moved, and new ones are at the end alone.
func inPlace(origin []int, length int) bool {
	for i, o := range origin {
		if i < length && o != i || i >= length && o != isNew {
			return false
		}
	}
	return true
}

// merge carries the difference between was and is over to what was sent.
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
	for key, there := range sent {
		_, known := was[key]
		if _, stays := is[key]; stays || !known {
			merged[key] = json.RawMessage(there)
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
