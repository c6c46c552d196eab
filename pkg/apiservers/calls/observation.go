package calls

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// unreadIntervals is for how many intervals an API server that was read must not be read until this is reported: a restart takes
// less.
const unreadIntervals = 20

// Observation is what is known about the calls of all API servers, by their addresses.
type Observation struct {
	Servers map[string]History
	unread  map[string]unread
}

// unread is since when the metrics of an API server cannot be read; zero if they never were. The first error stays: texts of
// errors vary.
type unread struct {
	since time.Time
	why   string
}

// Readings are the results of one round of requests.
type Readings struct {
	// Obstacle is why there are API servers of which no address is known; empty if there are none.
	Obstacle string
	Read     map[string]Reading // by address
	Unread   map[string]string  // why, by address
}

// Known are the registered webhooks, each with the failures that were reported earlier, by address.
type Known map[Webhook]map[string]*Failure

// Next returns what is known after another round. What is known about an API server stays while it cannot be read, or no address
// is known, and ends when its address is no longer listed.
func (o Observation) Next(p Policy, r Readings, known Known, now time.Time) Observation {
	next := Observation{Servers: map[string]History{}, unread: map[string]unread{}}
	if r.Obstacle != "" && len(r.Read)+len(r.Unread) == 0 {
		for address, history := range o.Servers {
			next.Servers[address] = history.unread(known.at(address), now)
		}
	}
	for address, reading := range r.Read {
		next.Servers[address] = o.Servers[address].Next(p, reading, known.at(address), now)
	}
	for address, why := range r.Unread {
		history, found := o.Servers[address]
		if found {
			next.Servers[address] = history.unread(known.at(address), now)
		}
		next.unread[address] = o.unreadSince(address, fmt.Sprintf("the metrics of the API server at %s cannot be read: %s", address, why), found, now)
	}
	if r.Obstacle != "" {
		next.unread[""] = o.unreadSince("", r.Obstacle, len(o.Servers) > 0, now)
	}
	return next
}

func (o Observation) unreadSince(address, why string, wasRead bool, now time.Time) unread {
	if before, found := o.unread[address]; found {
		return before
	}
	if !wasRead {
		return unread{why: why}
	}
	return unread{now, why}
}

func (k Known) at(address string) map[Webhook]*Failure {
	all := make(map[Webhook]*Failure, len(k))
	for webhook, failures := range k {
		all[webhook] = failures[address]
	}
	return all
}

// Report is what the status reports about calls. The zero value says that nothing is known yet.
type Report struct {
	// Complete is set after the first round, and if API servers are not read at all.
	Complete bool
	// Failures are ordered by the addresses.
	Failures map[Webhook][]ServerFailure
	// Shared are the configurations with a webhook of the same name, if calls of such a webhook fail.
	Shared map[Webhook][]string
	// Unobserved is why nothing is known about the calls of some API servers; empty if all are observed.
	Unobserved string
}

// ServerFailure is why calls of one API server fail.
type ServerFailure struct {
	APIServer string // its address
	Failure
}

// Attributed returns the observation with the configurations that have a webhook of the name of one whose calls fail. After a
// name was shared, its failures end: they may be those of a configuration that no longer exists.
func (o Observation) Attributed(configurations map[Webhook][]string) Observation {
	attributed := Observation{Servers: map[string]History{}, unread: o.unread}
	for address, history := range o.Servers {
		webhooks := make(map[Webhook]State, len(history.Webhooks))
		for webhook, state := range history.Webhooks {
			webhooks[webhook] = state.attributed(configurations[webhook])
		}
		attributed.Servers[address] = History{history.started, webhooks}
	}
	return attributed
}

// Report returns what to report.
func (o Observation) Report(p Policy, now time.Time) Report {
	r := Report{Complete: true, Failures: map[Webhook][]ServerFailure{}, Shared: map[Webhook][]string{}, Unobserved: o.unobserved(p, now)}
	for _, address := range slices.Sorted(maps.Keys(o.Servers)) {
		for webhook, state := range o.Servers[address].Webhooks {
			switch {
			case state.Failure == nil:
			case len(state.shared) > 0:
				r.Shared[webhook] = state.shared
			default:
				r.Failures[webhook] = append(r.Failures[webhook], ServerFailure{address, *state.Failure})
			}
		}
	}
	return r
}

// Fails reports whether calls of any webhook fail.
func (o Observation) Fails() bool {
	for _, history := range o.Servers {
		for _, state := range history.Webhooks {
			if state.Failure != nil {
				return true
			}
		}
	}
	return false
}

func (o Observation) unobserved(p Policy, now time.Time) string {
	var all []string
	for _, address := range slices.Sorted(maps.Keys(o.unread)) {
		if one := o.unread[address]; now.Sub(one.since) >= unreadIntervals*p.Interval {
			all = append(all, one.why)
		}
	}
	return strings.Join(all, "; ")
}

// Differs reports whether the reports about some webhooks differ.
func (r Report) Differs(from Report, webhooks []Webhook) bool {
	return r.Unobserved != from.Unobserved || slices.ContainsFunc(webhooks, func(w Webhook) bool {
		return !slices.Equal(r.Failures[w], from.Failures[w]) || !slices.Equal(r.Shared[w], from.Shared[w])
	})
}
