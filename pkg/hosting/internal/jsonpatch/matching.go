package jsonpatch

import (
	"encoding/json"
	"reflect"
	"slices"
)

// matching pairs the elements of a list with the elements of the previous list, each with one
// at most. A body may have 100,000 elements, so no step compares all with all.
type matching struct {
	was, is []any
	origin  []int // of what is
	taken   []bool
}

func (m *matching) pair(i, j int) { m.origin[i], m.taken[j] = j, true }

// ends pairs equal elements at both ends. After most changes, these are all unchanged elements.
func (m *matching) ends() {
	first, last := 0, min(len(m.was), len(m.is))
	for first < last && reflect.DeepEqual(m.was[first], m.is[first]) {
		m.pair(first, first)
		first++
	}
	for n := 1; n <= last-first; n++ {
		i, j := len(m.is)-n, len(m.was)-n
		if !reflect.DeepEqual(m.was[j], m.is[i]) {
			return
		}
		m.pair(i, j)
	}
}

// byKey pairs elements that have the same key: those of the same index if there are any, else the
// first with the first. An empty key pairs with nothing.
func (m *matching) byKey(key func(element any) string) {
	keys := make([]string, len(m.is))
	for i, o := range m.origin {
		if o == isNew {
			keys[i] = key(m.is[i])
		}
	}
	indexes := map[string][]int{}
	for j, taken := range m.taken {
		if taken {
			continue
		}
		k := key(m.was[j])
		if k != "" && j < len(keys) && keys[j] == k {
			m.pair(j, j)
		} else {
			indexes[k] = append(indexes[k], j)
		}
	}
	for i, k := range keys {
		if left := indexes[k]; k != "" && m.origin[i] == isNew && len(left) > 0 {
			m.pair(i, left[0])
			indexes[k] = left[1:]
		}
	}
}

// byIndex pairs the remaining elements of the same index that have no names.
func (m *matching) byIndex() {
	for i, o := range m.origin {
		if o == isNew && i < len(m.was) && !m.taken[i] && nameOf(m.was[i]) == "" && nameOf(m.is[i]) == "" {
			m.pair(i, i)
		}
	}
}

func canonical(element any) string {
	encoded, err := json.Marshal(element)
	if err != nil {
		return "" // encoding the patch fails, too, and reports the error
	}
	return string(encoded)
}

// isNew is the origin of an element that was not in the previous list.
const isNew = -1

// origins returns the previous index of each element: of an equal one, one with its name, or an unnamed one in its place.
func origins(was, is []any) []int {
	m := &matching{was: was, is: is, origin: slices.Repeat([]int{isNew}, len(is)), taken: make([]bool, len(was))}
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
