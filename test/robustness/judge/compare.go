package judge

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/robustness/history"
)

// SameEnd is I10: it returns the objects of some kinds in which two runs differ at their ends. The runs must have the same
// names. What differs in each run, such as a uid, does not count.
func SameEnd(a, b history.History, kinds ...string) []history.Ref {
	ends := [2]map[history.Ref]history.Object{endOf(a, kinds), endOf(b, kinds)}
	var different []history.Ref
	for key := range maps.Keys(union(ends[0], ends[1])) {
		if !reflect.DeepEqual(ends[0][key], ends[1][key]) {
			different = append(different, key)
		}
	}
	slices.SortFunc(different, compareRefs)
	return different
}

func union(a, b map[history.Ref]history.Object) map[history.Ref]history.Object {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

func endOf(h history.History, kinds []string) map[history.Ref]history.Object {
	c := newCluster(h)
	for _, e := range h.Events {
		c.apply(e)
	}
	end := map[history.Ref]history.Object{}
	for key, object := range c.objects {
		if slices.Contains(kinds, key.Kind) {
			end[key], _ = ofEachRun(object).(history.Object)
		}
	}
	return end
}

// ofOneRun are the fields whose values are those of one run.
var ofOneRun = []string{
	"uid", "resourceVersion", "generation", "observedGeneration", "creationTimestamp", "managedFields", "caBundle", "tls.crt", "tls.key", "ca.crt",
	"lastTransitionTime", "lastUpdateTime", "lastHeartbeatTime", "lastProbeTime",
}

func ofEachRun(value any) any {
	switch v := value.(type) {
	case map[string]any:
		all := map[string]any{}
		for key, field := range v {
			if !slices.Contains(ofOneRun, key) {
				all[key] = ofEachRun(field)
			}
		}
		return all
	case []any:
		all := make([]any, len(v))
		for i, item := range v {
			all[i] = ofEachRun(item)
		}
		return all
	default:
		return value
	}
}

// Cost is what the manager spent on a number of objects.
type Cost struct{ Objects, Requests int }

// mostGrowth is how much more each object may cost when there are twice as many.
const mostGrowth = 1.2

// Growth is I14: it returns an error if an object costs more in the larger of two runs than it may.
func Growth(a, b Cost) error {
	small, large := a, b
	if cmp.Less(b.Objects, a.Objects) {
		small, large = b, a
	}
	each := func(c Cost) float64 { return float64(c.Requests) / float64(c.Objects) }
	if growth := each(large) / each(small); growth > mostGrowth {
		return fmt.Errorf("I14: %d objects cost %.1f requests each, and %d cost %.1f each: %.2f times as much, at most %.1f", small.Objects, each(small), large.Objects, each(large), growth, mostGrowth)
	}
	return nil
}

// CostOf returns what the managers of a run spent on the objects of a kind that exist at its end.
func CostOf(h history.History, kind string) Cost {
	c := newCluster(h)
	requests := 0
	for _, e := range h.Events {
		c.apply(e)
		if e.Write != nil && c.is(e.Write.Client, history.Manager) || e.Read != nil && c.is(e.Read.Client, history.Manager) {
			requests++
		}
	}
	return Cost{c.count(kind), requests}
}
