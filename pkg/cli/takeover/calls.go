package takeover

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// Calls are the counters of calls of one API server, by webhook. A counter that an API server does not have is 0.
type Calls struct {
	// Failed counts requests that were refused, or passed unchecked, because a call of the webhook failed.
	Failed map[string]float64
	// Count and Seconds are the number of the calls and their total duration.
	Count, Seconds map[string]float64
	// Within counts the calls that took at most a number of seconds, which is the key of the inner map.
	Within map[string]map[float64]float64
}

// Reading has the counters of each API server, by address, and the problem of each registration, by its name.
type Reading struct {
	Servers  map[string]Calls
	Problems map[string]string
}

// ProblemsOf returns why registrations do not serve, by the registration. While a CSV converges, pods of a Deployment with
// the strategy Recreate are missing for a time: the user has accepted that.
func ProblemsOf(s *Snapshot) map[string]string {
	all := map[string]string{}
	for _, csv := range s.CSVs {
		if s.StateOf(csv) == Converging && slices.ContainsFunc(csv.Deployments, func(d Deployment) bool { return d.Recreate }) {
			continue
		}
		for _, p := range csv.Problems {
			all[p.Object] = p.Message
		}
	}
	return all
}

// Watcher compares readings. Calls that failed before the first change of the command are not counted.
type Watcher struct {
	// FailedBefore are the webhooks with failed calls, or with a problem, before the first change.
	FailedBefore map[string]bool
	first, last  Reading
	slow         slowness
}

// NewWatcher compares two readings before the first change. timeouts are those of the calls, by webhook.
func NewWatcher(first, second Reading, timeouts map[string]time.Duration) *Watcher {
	begin := second.withUnread(first)
	w := &Watcher{FailedBefore: map[string]bool{}, first: begin, last: begin, slow: newSlowness(timeouts)}
	w.slow.before = shares(w.slow.count(first, second))
	for webhook := range increments(first, second, failed) {
		w.FailedBefore[webhook] = true
	}
	for registration := range second.Problems {
		w.FailedBefore[registration] = true
	}
	return w
}

// Failures returns what fails since the previous reading and did not fail before the first change, and the webhooks of which
// a higher share of calls is slow.
func (w *Watcher) Failures(now Reading) []string {
	counts := increments(w.last, now, failed)
	slower := w.slow.add(w.slow.count(w.last, now))
	w.last = now.withUnread(w.last)
	var all []string
	for _, webhook := range slices.Sorted(maps.Keys(counts)) {
		if !w.FailedBefore[webhook] {
			all = append(all, fmt.Sprintf("%g calls of webhook %s failed", counts[webhook], webhook))
		}
	}
	for _, registration := range slices.Sorted(maps.Keys(now.Problems)) {
		if !w.FailedBefore[registration] {
			all = append(all, fmt.Sprintf("%s: %s", registration, now.Problems[registration]))
		}
	}
	return append(all, slower...)
}

func failed(c Calls) map[string]float64 { return c.Failed }

// withUnread adds the earlier counters of the API servers that cannot be read now.
func (r Reading) withUnread(earlier Reading) Reading {
	servers := map[string]Calls{}
	maps.Copy(servers, earlier.Servers)
	maps.Copy(servers, r.Servers)
	return Reading{Servers: servers, Problems: r.Problems}
}

// increments returns by how much counters have increased. What an API server counted before its first reading is unknown.
func increments(before, now Reading, of func(Calls) map[string]float64) map[string]float64 {
	all := map[string]float64{}
	for server, calls := range now.Servers {
		previous, known := before.Servers[server]
		if !known {
			continue
		}
		if calls.restartedSince(previous) {
			previous = Calls{}
		}
		for webhook, count := range of(calls) {
			if was := of(previous)[webhook]; count > was {
				all[webhook] += count - was
			}
		}
	}
	return all
}

// restartedSince reports whether the API server has restarted: then its counters began with 0.
func (c Calls) restartedSince(previous Calls) bool {
	isLower := func(was, now map[string]float64) bool {
		for webhook, count := range was {
			if now[webhook] < count {
				return true
			}
		}
		return false
	}
	return isLower(previous.Count, c.Count) || isLower(previous.Failed, c.Failed)
}

// Slowest returns the webhook with the highest mean duration of calls since the first change, in seconds, and the number of
// the calls of all webhooks. The name is empty if no call was counted.
func (w *Watcher) Slowest() (webhook string, mean, calls float64) {
	count := increments(w.first, w.last, func(c Calls) map[string]float64 { return c.Count })
	seconds := increments(w.first, w.last, func(c Calls) map[string]float64 { return c.Seconds })
	for _, name := range slices.Sorted(maps.Keys(count)) {
		calls += count[name]
		if m := seconds[name] / count[name]; m > mean || webhook == "" {
			webhook, mean = name, m
		}
	}
	return webhook, mean, calls
}
