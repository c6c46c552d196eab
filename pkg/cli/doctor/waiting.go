package doctor

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// waiting are webhooks that cannot come back: for each, the ways by which it could, and in
// each way the webhooks that stand in it.
type waiting map[int][][]int

// findDeadlocks looks among the webhooks that are down for those that cannot come back, since
// in each of their ways stands one that cannot either. What can come back is found by
// repetition, beginning with those in one of whose ways nobody stands.
func findDeadlocks(f Facts, down func(int) bool, ways func(types.NamespacedName, Service) [][]request, least certainty) waiting {
	left := waiting{}
	for i, w := range f.Webhooks {
		s, there := f.Services[w.Service]
		// One whose pods are not known holds nobody up.
		if !down(i) || !there || s.Foreign {
			continue
		}
		for _, way := range ways(w.Service, s) {
			left[i] = append(left[i], standingIn(f, way, least))
		}
	}
	for freed := true; freed; {
		freed = false
		for i, ways := range left {
			if slices.ContainsFunc(ways, left.free) {
				delete(left, i)
				freed = true
			}
		}
	}
	return left
}

// standingIn are the webhooks that refuse one of the requests while they are down, with at least
// that certainty.
func standingIn(f Facts, way []request, least certainty) []int {
	var standing []int
	for j, w := range f.Webhooks {
		if w.Fails && slices.ContainsFunc(way, func(r request) bool { return matches(w, r, f.Namespaces) >= least }) {
			standing = append(standing, j)
		}
	}
	return standing
}

// free tells that everybody who stands in a way can come back.
func (w waiting) free(way []int) bool {
	return !slices.ContainsFunc(way, w.has)
}

func (w waiting) has(i int) bool {
	_, waits := w[i]
	return waits
}

// cyclesBut are the cycles without those that have a part in others.
func (w waiting) cyclesBut(others waiting) [][]int {
	return slices.DeleteFunc(w.cycles(), func(cycle []int) bool { return slices.ContainsFunc(cycle, others.has) })
}

// cycles are the groups of webhooks that wait for each other.
func (w waiting) cycles() [][]int {
	var groups [][]int
	grouped := map[int]bool{}
	for _, i := range slices.Sorted(maps.Keys(w)) {
		if grouped[i] {
			continue
		}
		var group []int
		for _, j := range slices.Sorted(maps.Keys(w.reachable(i))) {
			if w.reachable(j)[i] {
				group = append(group, j)
				grouped[j] = true
			}
		}
		if len(group) > 0 {
			groups = append(groups, group)
		}
	}
	return groups
}

// reachable are all that one waits for, over any number of others; itself if it is in a cycle.
func (w waiting) reachable(from int) map[int]bool {
	seen := map[int]bool{}
	next := []int{from}
	for len(next) > 0 {
		i := next[0]
		next = next[1:]
		for _, j := range slices.Concat(w[i]...) {
			if w.has(j) && !seen[j] {
				seen[j] = true
				next = append(next, j)
			}
		}
	}
	return seen
}
