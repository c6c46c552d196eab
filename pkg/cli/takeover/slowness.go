package takeover

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// A call is slow if it takes longer than half of its timeout: it may fail soon.
const (
	// usualTimeout is that of a webhook without timeoutSeconds.
	usualTimeout = 10 * time.Second
	// enoughCalls is the number of calls of a webhook of which the share of slow calls is judged.
	enoughCalls = 20
	// moreSlowCalls is by how much the share of slow calls must rise to stop a command.
	moreSlowCalls = 0.1
)

// slowness compares the share of slow calls with the share before the first change of the command.
type slowness struct {
	timeouts map[string]time.Duration
	before   map[string]float64 // shares
	since    map[string]callCount
}

type callCount struct{ all, slow float64 }

func newSlowness(timeouts map[string]time.Duration) slowness {
	return slowness{timeouts: timeouts, since: map[string]callCount{}}
}

// count returns the calls between two readings.
func (s slowness) count(before, now Reading) map[string]callCount {
	counts := map[string]callCount{}
	slow := increments(before, now, s.slowCalls)
	for webhook, all := range increments(before, now, func(c Calls) map[string]float64 { return c.Count }) {
		counts[webhook] = callCount{all, slow[webhook]}
	}
	return counts
}

// slowCalls returns how many calls took longer than half of their timeout. An API server counts calls up to some durations
// only: the longest one that is not longer than the half decides.
func (s slowness) slowCalls(c Calls) map[string]float64 {
	slow := map[string]float64{}
	for webhook, within := range c.Within {
		half := s.timeoutOf(webhook).Seconds() / 2
		limit := 0.0
		for bound := range within {
			if bound <= half && bound > limit {
				limit = bound
			}
		}
		if limit > 0 {
			slow[webhook] = c.Count[webhook] - within[limit]
		}
	}
	return slow
}

func (s slowness) timeoutOf(webhook string) time.Duration {
	if timeout := s.timeouts[webhook]; timeout > 0 {
		return timeout
	}
	return usualTimeout
}

func shares(counts map[string]callCount) map[string]float64 {
	all := map[string]float64{}
	for webhook, c := range counts {
		if c.all > 0 {
			all[webhook] = c.slow / c.all
		}
	}
	return all
}

// add returns the webhooks whose share of slow calls has risen, once enough calls are counted. Then it counts from 0.
func (s slowness) add(counts map[string]callCount) (slower []string) {
	for _, webhook := range slices.Sorted(maps.Keys(counts)) {
		sum := callCount{s.since[webhook].all + counts[webhook].all, s.since[webhook].slow + counts[webhook].slow}
		if s.since[webhook] = sum; sum.all < enoughCalls {
			continue
		}
		if share := sum.slow / sum.all; share > s.before[webhook]+moreSlowCalls {
			slower = append(slower, fmt.Sprintf("%.0f of %.0f calls of webhook %s took longer than half of its timeout of %s; before: %.0f %%",
				sum.slow, sum.all, webhook, s.timeoutOf(webhook), 100*s.before[webhook]))
		}
		delete(s.since, webhook)
	}
	return slower
}
