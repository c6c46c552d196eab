package takeover

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// Calls are the counters of calls of one API server, by webhook. A counter that an API server does not have is 0.
type Calls struct {
	// Started is when the process of the API server started, and Read when the counters were read, both by its clock. They
	// are zero if they are not known.
	Started, Read time.Time
	// Failed counts requests that were refused, or passed unchecked, because a call of the webhook failed.
	Failed map[string]float64
	// Count and Seconds are the number of the calls and their total duration.
	Count, Seconds map[string]float64
	// Within counts the calls that took at most a number of seconds, which is the key of the inner map.
	Within map[string]map[float64]float64
}

// Reading has the counters of each API server, and the problem of each registration, by its name. An API server has another
// name after a restart, unless the time of its start is not known.
type Reading struct {
	// At is when the counters were read. The zero value is not known.
	At       time.Time
	Servers  map[string]Calls
	Problems map[string]string

	begin time.Time // At of the first one, if it has counters of several readings
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
	last         Reading
	slow         slowness
	// count and seconds are the calls since the first change and their total duration.
	count, seconds map[string]float64
}

// NewWatcher compares two readings before the first change. timeouts are those of the calls, by webhook.
func NewWatcher(first, second Reading, timeouts map[string]time.Duration) *Watcher {
	w := &Watcher{
		FailedBefore: map[string]bool{}, last: second.withUnread(first), slow: newSlowness(timeouts), count: map[string]float64{}, seconds: map[string]float64{},
	}
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
	addTo(w.count, increments(w.last, now, func(c Calls) map[string]float64 { return c.Count }))
	addTo(w.seconds, increments(w.last, now, func(c Calls) map[string]float64 { return c.Seconds }))
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
	return Reading{At: r.At, Servers: servers, Problems: r.Problems, begin: earlier.since()}
}

// since returns when the first of the readings was of which it has counters.
func (r Reading) since() time.Time {
	if r.begin.IsZero() {
		return r.At
	}
	return r.begin
}

// increments returns by how much counters have increased since an earlier reading. What an API server counted before its
// first reading is unknown, unless it started after the first reading of all: it counts from 0.
func increments(before, now Reading, of func(Calls) map[string]float64) map[string]float64 {
	all := map[string]float64{}
	for server, calls := range now.Servers {
		previous, known := before.Servers[server]
		if !known && !calls.startedWithin(now.At.Sub(before.since())) {
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

// startedWithin reports whether an API server started at most a duration before the reading. It compares times of its own
// clock, which the answer has in whole seconds.
func (c Calls) startedWithin(duration time.Duration) bool {
	return !c.Started.IsZero() && !c.Read.IsZero() && c.Read.Sub(c.Started)+2*time.Second < duration
}

// restartedSince reports whether the API server has restarted: then its counters began with 0. If the time of its start is
// known, an API server has another name after a restart.
func (c Calls) restartedSince(previous Calls) bool {
	if !c.Started.IsZero() {
		return false
	}
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
	for _, name := range slices.Sorted(maps.Keys(w.count)) {
		calls += w.count[name]
		if m := w.seconds[name] / w.count[name]; m > mean || webhook == "" {
			webhook, mean = name, m
		}
	}
	return webhook, mean, calls
}

func addTo(sums, more map[string]float64) {
	for key, value := range more {
		sums[key] += value
	}
}
