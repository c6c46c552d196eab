package convert

import "strings"

// values is a spec or a part of one. A path is names separated by dots.
type values map[string]any

func (v values) get(path string) (any, bool) {
	name, rest, isPath := strings.Cut(path, ".")
	value, ok := v[name]
	if !isPath || !ok {
		return value, ok
	}
	inner, ok := value.(map[string]any)
	if !ok {
		return nil, false
	}
	return values(inner).get(rest)
}

// take removes the value at a path, and the parents that are empty then.
func (v values) take(path string) {
	name, rest, isPath := strings.Cut(path, ".")
	if !isPath {
		delete(v, name)
		return
	}
	inner := v[name].(map[string]any)
	values(inner).take(rest)
	if len(inner) == 0 {
		delete(v, name)
	}
}

// set writes a value at a path. It replaces parents that are not objects: the value is newer.
func (v values) set(path string, value any) {
	name, rest, isPath := strings.Cut(path, ".")
	if !isPath {
		v[name] = value
		return
	}
	inner, ok := v[name].(map[string]any)
	if !ok {
		inner = map[string]any{}
		v[name] = inner
	}
	values(inner).set(rest, value)
}
