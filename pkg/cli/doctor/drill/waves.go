package drill

import (
	"slices"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor/cycles"
)

// never is the wave of a part that does not return.
const never = -1

// view is what returns if only certain needs count, or if all do.
type view struct {
	graph

	certain bool
	// returned is the wave of each part: 0 for what is outside of the cluster, 1 for what needs no webhook of the cluster,
	// and so on. A webhook answers from the wave after its own.
	returned []int
}

// counting returns the view of the certain needs, or of all.
func (g graph) counting(certain bool) view {
	v := view{g, certain, make([]int, len(g.parts))}
	for i, p := range g.parts {
		if !p.outside {
			v.returned[i] = never
		}
	}
	for wave := 1; v.wave(wave); wave++ { //nolint:revive // The call does the work.
	}
	return v
}

// wave adds the parts that return in a wave, and reports whether there are any.
func (v view) wave(wave int) bool {
	added := false
	for changed := true; changed; {
		changed = false
		for i := range v.parts {
			if v.returned[i] == never && len(v.unmet(i, wave)) == 0 {
				v.returned[i], changed, added = wave, true, true
			}
		}
	}
	return added
}

func (v view) counts(n need) bool { return n.certain || !v.certain }

// unmet returns the needs that keep a part from returning in a wave.
func (v view) unmet(i, wave int) []need {
	var unmet []need
	for _, n := range v.parts[i].needs {
		met := slices.ContainsFunc(n.any, func(j int) bool { return v.returned[j] != never && (n.request == nil || v.returned[j] < wave) })
		if v.counts(n) && !met {
			unmet = append(unmet, n)
		}
	}
	return unmet
}

// missing returns the needs that are never met.
func (v view) missing(i int) []need { return v.unmet(i, len(v.parts)+1) }

// cycles are the groups of parts that keep each other from returning.
func (v view) cycles() [][]int {
	edges := map[int][]int{}
	for i := range v.parts {
		if v.returned[i] != never {
			continue
		}
		edges[i] = nil
		for _, n := range v.missing(i) {
			edges[i] = append(edges[i], n.any...)
		}
	}
	return cycles.Of(edges)
}
