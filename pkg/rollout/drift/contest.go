package drift

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

const (
	contestAfter    = 3
	contestAfterAll = 30 // by whichever client
	contestWindow   = time.Minute
	maxPause        = 10 * time.Minute
)

// Causes of reverted repairs that have no field manager of their own.
const (
	ByAdmission = "(admission)" // a mutating webhook or a MutatingAdmissionPolicy
	ByAnyClient = "(anybody)"   // clients under changing names, or without one
	ByCreation  = "(creation)"  // a client that recreates what the manager deletes
)

// Contest is the record of the reverted repairs of one object, by client.
type Contest struct {
	clients []otherClient
}

type otherClient struct {
	by    string    // its field manager; empty if ownership does not show it
	field string    // the first field that it changed
	count int       // repairs so far
	first time.Time // the first of them
	last  time.Time // the latest of them
}

// Repaired returns the record after one more repair.
func (c Contest) Repaired(drift Drift, now time.Time) Contest {
	field := "the object itself"
	if len(drift.Fields) > 0 {
		field = drift.Fields[0]
	}
	clients := slices.DeleteFunc(slices.Clone(c.clients), func(r otherClient) bool { return r.over(now) })
	for _, by := range slices.Compact([]string{drift.By, ByAnyClient}) {
		i := slices.IndexFunc(clients, func(r otherClient) bool { return r.by == by })
		if i < 0 {
			clients, i = append(clients, otherClient{by: by}), len(clients)
		}
		clients[i] = clients[i].repaired(field, now)
	}
	return Contest{clients: clients}
}

// repaired starts again if earlier repairs were too few for a contest.
func (r otherClient) repaired(field string, now time.Time) otherClient {
	if !r.contests() && now.Sub(r.first) > contestWindow {
		r = otherClient{by: r.by, first: now}
	}
	r.count++
	r.last, r.field = now, field
	return r
}

// limit returns after how many repairs an object is contested.
func (r otherClient) limit() int {
	if r.by == ByAnyClient {
		return contestAfterAll
	}
	return contestAfter
}

func (r otherClient) contests() bool { return r.count >= r.limit() }

func (r otherClient) over(now time.Time) bool { return !now.Before(r.overAt()) }

func (r otherClient) overAt() time.Time { return r.last.Add(2 * max(r.pause(), contestWindow)) }

func (r otherClient) blockedUntil() time.Time { return r.last.Add(r.pause()) }

// pause doubles with every reverted repair.
func (r otherClient) pause() time.Duration {
	if !r.contests() {
		return 0
	}
	return min(contestWindow<<min(r.count-r.limit(), 8), maxPause)
}

// Over reports whether the records of all clients can be dropped.
func (c Contest) Over(now time.Time) bool {
	return !slices.ContainsFunc(c.clients, func(r otherClient) bool { return !r.over(now) })
}

// Contested reports whether the manager pauses repairs because of another client.
func (c Contest) Contested() bool { return slices.ContainsFunc(c.clients, otherClient.contests) }

// BlockedUntil returns when the manager repairs again; zero if it does now.
func (c Contest) BlockedUntil(now time.Time) (until time.Time) {
	for _, r := range c.clients {
		if r.contests() && r.blockedUntil().After(until) {
			until = r.blockedUntil()
		}
	}
	if !now.Before(until) {
		return time.Time{}
	}
	return until
}

// ChangesAt returns when the results of Blocks and Message change.
func (c Contest) ChangesAt(now time.Time) (at []time.Time) {
	for _, r := range c.contesting(now) {
		at = append(at, r.blockedUntil(), r.overAt())
	}
	return at
}

func (c Contest) contesting(now time.Time) []otherClient {
	return slices.DeleteFunc(slices.Clone(c.clients), func(r otherClient) bool { return !r.contests() || r.over(now) })
}

// Blocks allows a first write, except to a Secret: each certificate differs.
func (c Contest) Blocks(object, live Object, drift Drift, now time.Time) bool {
	return slices.ContainsFunc(c.clients, func(r otherClient) bool {
		return r.contests() && now.Before(r.blockedUntil()) && r.concerns(object, live, drift)
	})
}

func (r otherClient) concerns(object, live Object, drift Drift) bool {
	_, secret := object.(*corev1.Secret)
	_, conversion := object.(*apiextensionsv1.CustomResourceDefinition)
	switch {
	case drift.By == ByCreation || r.by == ByCreation:
		return drift.By == r.by
	case secret && (r.by == ByAdmission || r.by == ByAnyClient):
		return true
	case r.by == ByAnyClient:
		return drift.By != ""
	default:
		return r.by == drift.By && (r.by != "" || live == nil || conversion)
	}
}

// Message returns who reverts which field of an object, and the remedy. After the pause it reports when the
// record ends.
func (c Contest) Message(key string, now time.Time) string {
	var all []string
	for _, r := range c.contesting(now) {
		what, verb, noun := fmt.Sprintf("%s keeps changing %s back", r.who(), r.field), "repairs", "repair"
		if r.by == ByCreation {
			what, verb, noun = "another client creates it again each time the manager deletes it", "deletes", "deletion"
		}
		when := fmt.Sprintf("the manager %s it again at %s", verb, instant(r.blockedUntil()))
		if !now.Before(r.blockedUntil()) {
			when = fmt.Sprintf("the latest %s was at %s; this message is removed at %s if that %[1]s lasts", noun, instant(r.last), instant(r.overAt()))
		}
		all = append(all, fmt.Sprintf("%s: %s; %s. %s", key, what, when, r.remedy()))
	}
	return strings.Join(all, "; ")
}

func instant(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func (r otherClient) who() string {
	switch r.by {
	case "":
		return "a client that field ownership does not show"
	case ByAdmission:
		return "admission"
	case ByAnyClient:
		return "a client under several names, or none,"
	default:
		return fmt.Sprintf("field manager %q", r.by)
	}
}

func (r otherClient) remedy() string {
	if r.by == ByAdmission {
		return "Exclude the object from the mutating webhook or MutatingAdmissionPolicy, or delete the ClusterServiceVersion"
	}
	return "Stop that client, or delete the ClusterServiceVersion"
}
