package differential

import (
	"math/rand/v2"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// pick returns a random element.
func pick[T any](r *rand.Rand, all []T) T { return all[r.IntN(len(all))] }

// chosen is a change with its value.
type chosen struct {
	path  []string
	value any
}

// some returns random changes of a kind: at least one. Those of metadata and spec, or those of the status.
func (k kind) some(r *rand.Rand, status bool) []chosen {
	var possible []change
	for _, c := range append(k.changes[:len(k.changes):len(k.changes)], metadata...) {
		if c.status == status {
			possible = append(possible, c)
		}
	}
	var all []chosen
	for n := 1 + r.IntN(2); n > 0; n-- {
		c := pick(r, possible)
		all = append(all, chosen{c.path, pick(r, c.values)})
	}
	return all
}

// apply makes changes to an object.
func apply(o object, all []chosen) {
	for _, c := range all {
		if c.value == nil {
			unstructured.RemoveNestedField(o, c.path...)
			continue
		}
		_ = unstructured.SetNestedField(o, runtime.DeepCopyJSONValue(c.value), c.path...) // a parent that is no object is not changed
	}
}

// patch returns changes as a merge patch: nil values remain.
func patch(all []chosen) object {
	p := object{}
	for _, c := range all {
		at := p
		for _, name := range c.path[:len(c.path)-1] {
			next, ok := at[name].(object)
			if !ok {
				next = object{}
				at[name] = next
			}
			at = next
		}
		at[c.path[len(c.path)-1]] = runtime.DeepCopyJSONValue(c.value)
	}
	return p
}
