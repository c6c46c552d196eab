package hosting

import (
	"encoding/json"
	"reflect"
)

// matching pairs the elements of a list with those that were there before, each with one
// at most. A body may have a hundred thousand elements: no step compares all with all.
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

func (m *matching) pair(i, j int) {
	m.origin[i], m.taken[j] = j, true
}

// ends pairs what is equal at the beginning and at the end: after most changes, all that
// has not changed.
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

// by pairs elements of the same key, in their own place if it is there, else the first
// with the first. Elements whose key is empty have none.
func (m *matching) by(key func(element any) string) {
	keys := make([]string, len(m.is))
	for i, o := range m.origin {
		if o == isNew {
			keys[i] = key(m.is[i])
		}
	}
	places := map[string][]int{}
	for j, taken := range m.taken {
		if taken {
			continue
		}
		k := key(m.was[j])
		if k != "" && j < len(keys) && keys[j] == k {
			m.pair(j, j)
		} else {
			places[k] = append(places[k], j)
		}
	}
	for i, k := range keys {
		if left := places[k]; k != "" && m.origin[i] == isNew && len(left) > 0 {
			m.pair(i, left[0])
			places[k] = left[1:]
		}
	}
}

// places pairs what is left by place alone, where neither has a name.
func (m *matching) places() {
	for i, o := range m.origin {
		if o == isNew && i < len(m.was) && !m.taken[i] && nameOf(m.was[i]) == "" && nameOf(m.is[i]) == "" {
			m.pair(i, i)
		}
	}
}

// canonical is the same text for equal elements.
func canonical(element any) string {
	encoded, err := json.Marshal(element)
	if err != nil {
		return "" // the patch will not be encoded either, and says so
	}
	return string(encoded)
}
