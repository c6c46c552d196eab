package convert

import "strings"

// values is a spec, or a part of one. Paths into it are names with dots between them.
type values map[string]any

// get returns what is at a path, and whether anything is.
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

// take removes what is at a path, and what is empty without it.
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

// set puts a value at a path. What is in the way is replaced: it cannot be kept together
// with the value, which is newer.
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
