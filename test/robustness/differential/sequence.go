package differential

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// step is one request. Its text does not depend on the cluster: versions and uids are filled in there.
type step struct {
	kind        kind
	name        string // of the object
	verb        string
	body        object // of create, update and apply, without a resourceVersion
	patchType   types.PatchType
	patch       []byte
	manager     string
	force       bool
	subresource string
	dryRun      bool
	version     int // of the resourceVersions of the object that were observed: 0 is the last, 1 the previous one; -1 is none
	uid         string
	propagation *metav1.DeletionPropagation
}

func (s step) String() string {
	text := fmt.Sprintf("%s %s %s", s.verb, s.kind.name, s.name)
	for _, part := range []string{s.subresource, string(s.patchType), s.manager, string(s.patch), s.uid} {
		if part != "" {
			text += " " + part
		}
	}
	if s.body != nil {
		body, _ := json.Marshal(s.body)
		text += " " + string(body)
	}
	if s.propagation != nil {
		text += " " + string(*s.propagation)
	}
	return fmt.Sprintf("%s force=%v dryRun=%v version=%d", text, s.force, s.dryRun, s.version)
}

// sequence returns random steps on objects of one kind.
func sequence(r *rand.Rand, k kind, prefix string, length int) []step {
	g := generator{r: r, kind: k, current: map[string]object{}}
	names := []string{prefix + "-a", prefix + "-b"}
	steps := []step{g.create(names[0])}
	for len(steps) < length {
		steps = append(steps, g.next(pick(r, names)))
	}
	return steps
}

type generator struct {
	r       *rand.Rand
	kind    kind
	current map[string]object // by name: what updates start from
}

func (g *generator) next(name string) step {
	var s step
	switch n := g.r.IntN(20); {
	case n < 3:
		s = g.create(name)
	case n < 7:
		s = g.update(name)
	case n < 11:
		s = g.apply(name)
	case n < 15:
		s = g.patch(name)
	case n < 17:
		s = g.delete(name)
	default:
		s = step{kind: g.kind, name: name, verb: pick(g.r, []string{"get", "list", "pages", "exact"}), version: g.r.IntN(5)}
	}
	return s
}

func (g *generator) create(name string) step {
	o := g.kind.base(name)
	if g.r.IntN(3) == 0 {
		apply(o, g.kind.some(g.r, false))
	}
	g.current[name] = o
	return step{kind: g.kind, name: name, verb: "create", body: o, manager: pick(g.r, managers), dryRun: g.r.IntN(8) == 0}
}

var managers = []string{"first", "second", "third"}

// update changes what was last sent, so that it also removes what the API server or other managers have added.
func (g *generator) update(name string) step {
	o, ok := g.current[name]
	if !ok {
		o = g.kind.base(name)
	}
	o = copyOf(o)
	s := step{kind: g.kind, name: name, verb: "update", body: o, manager: pick(g.r, managers), version: pick(g.r, []int{0, 0, 0, 1, -1}), dryRun: g.r.IntN(8) == 0}
	status := g.kind.status && g.r.IntN(3) == 0
	if status {
		s.subresource = "status"
	}
	apply(o, g.kind.some(g.r, status))
	g.current[name] = o
	return s
}

func (g *generator) apply(name string) step {
	base := g.kind.base(name)
	s := step{kind: g.kind, name: name, verb: "apply", manager: pick(g.r, managers), force: g.r.IntN(2) == 0, version: pick(g.r, []int{-1, -1, -1, 0, 1}), dryRun: g.r.IntN(8) == 0}
	status := g.kind.status && g.r.IntN(4) == 0
	if status {
		s.subresource = "status"
	}
	if g.r.IntN(2) == 0 { // only what identifies the object
		base = object{"apiVersion": base["apiVersion"], "kind": base["kind"], "metadata": object{"name": base["metadata"].(object)["name"]}}
	}
	apply(base, g.kind.some(g.r, status))
	s.body = base
	return s
}

func (g *generator) patch(name string) step {
	s := step{kind: g.kind, name: name, verb: "patch", manager: pick(g.r, managers), version: -1, dryRun: g.r.IntN(8) == 0}
	status := g.kind.status && g.r.IntN(3) == 0
	if status {
		s.subresource = "status"
	}
	if g.kind.scale && g.r.IntN(6) == 0 {
		s.subresource, s.patchType, s.patch = "scale", types.MergePatchType, encode(object{"spec": object{"replicas": g.r.IntN(4) - 1}})
		return s
	}
	changes := g.kind.some(g.r, status)
	possible := []types.PatchType{types.MergePatchType, types.JSONPatchType}
	if g.kind.strategic || g.r.IntN(10) == 0 {
		possible = append(possible, types.StrategicMergePatchType)
	}
	if s.patchType = pick(g.r, possible); s.patchType == types.JSONPatchType {
		s.patch = jsonPatch(g.r, changes)
	} else {
		s.patch = encode(patch(changes))
	}
	return s
}

func jsonPatch(r *rand.Rand, changes []chosen) []byte {
	var operations []any
	for _, c := range changes {
		path := "/" + strings.Join(c.path, "/")
		if r.IntN(3) == 0 {
			operations = append(operations, object{"op": "test", "path": path, "value": c.value})
		}
		if c.value == nil {
			operations = append(operations, object{"op": "remove", "path": path})
		} else {
			operations = append(operations, object{"op": pick(r, []string{"add", "replace"}), "path": path, "value": c.value})
		}
	}
	return encode(operations)
}

func (g *generator) delete(name string) step {
	s := step{kind: g.kind, name: name, verb: "delete", version: pick(g.r, []int{-1, -1, 0, 1}), uid: pick(g.r, []string{"", "", "right", "wrong"}), dryRun: g.r.IntN(8) == 0}
	if g.kind.namespaced && g.r.IntN(4) == 0 {
		s.verb = "deletecollection"
	}
	if g.r.IntN(3) == 0 {
		s.propagation = new(pick(g.r, []metav1.DeletionPropagation{
			metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan, "Wrong",
		}))
	}
	return s
}

func encode(value any) []byte {
	data, err := json.Marshal(value)
	if err != nil {
		panic(err) // values are constants of this package
	}
	return data
}

func copyOf(o object) object {
	var copied object
	if err := json.Unmarshal(encode(o), &copied); err != nil {
		panic(err)
	}
	return copied
}
