package jsonpatch

import (
	"encoding/json"
	"reflect"
)

// matching pairs the elements of a list with the elements of the previous list, each with one
// at most. A body may have 100,000 elements, so no step compares all with all.
type matching struct {
	was, is []any
	origin  []int // of what is
	taken   []bool
}

func newMatching(was, is []any) *matching {
	m := &matching{was: was, is: is, origin: make([]int, len(is)), taken: make([]bool, len(was))}
	for i := range is {
		m.origin[i] = isNew
	}
	return m
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
