package drift

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
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
	ByConflict  = "(conflict)"  // clients that create and delete what the object must not exist with
)

// Contest is the record of the reverted repairs of one object, by client.
type Contest struct {
	clients []otherClient
	recent  []recentRepairs // for Report only
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
	after := Contest{
		clients: slices.DeleteFunc(slices.Clone(c.clients), func(r otherClient) bool { return r.over(now) }),
		recent:  slices.DeleteFunc(slices.Clone(c.recent), func(r recentRepairs) bool { return r.over(now) }),
	}
	for _, by := range slices.Compact([]string{drift.By, ByAnyClient}) {
		i := slices.IndexFunc(after.clients, func(r otherClient) bool { return r.by == by })
		if i < 0 {
			after.clients, i = append(after.clients, otherClient{by: by}), len(after.clients)
		}
		after.clients[i] = after.clients[i].repaired(field, now)
		after.recent = after.withRecent(by, field, now)
		if after.clients[i].contests() {
			after.recent = slices.DeleteFunc(after.recent, func(r recentRepairs) bool { return r.by == by })
		}
	}
	return after
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

func (r otherClient) limit() int { return limitOf(r.by) }

// limitOf returns after how many repairs an object is contested.
func limitOf(client string) int {
	if client == ByAnyClient {
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
	return !slices.ContainsFunc(c.clients, func(r otherClient) bool { return !r.over(now) }) &&
		!slices.ContainsFunc(c.recent, func(r recentRepairs) bool { return !r.over(now) })
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

// ChangesAt returns when the results of Blocks and Report change.
func (c Contest) ChangesAt(now time.Time) (at []time.Time) {
	for _, r := range c.contesting(now) {
		at = append(at, r.blockedUntil(), r.overAt())
	}
	for _, r := range c.reported(now) {
		at = append(at, r.overAt())
	}
	return at
}

func (c Contest) contesting(now time.Time) []otherClient {
	return slices.DeleteFunc(slices.Clone(c.clients), func(r otherClient) bool { return !r.contests() || r.over(now) })
}

// Blocks reports whether the write is paused. A value that was not written before is not, except in a Secret.
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

// BlocksTrust reports whether no caBundle is written to a live registration or conversion. A client that changes other
// fields of a registration does not prevent it. A conversion is written as a whole.
func (c Contest) BlocksTrust(live Object, now time.Time) bool {
	_, conversion := live.(*apiextensionsv1.CustomResourceDefinition)
	return slices.ContainsFunc(c.clients, func(r otherClient) bool {
		switch {
		case !r.contests() || !now.Before(r.blockedUntil()):
			return false
		case r.by == ByAdmission || r.by == ByAnyClient:
			return true
		case conversion:
			return r.by == "" || ownsConversion(live, r.by)
		default:
			return r.by != "" && r.by == BundleWriter(live)
		}
	})
}

// Message returns who reverts which field, and the remedy. After the pause it reports when the record ends.
func (c Contest) Message(key string, now time.Time) string {
	var all []string
	for _, r := range c.contesting(now) {
		what, noun := revertedBy(r.by, r.field)
		when := lasting(noun, r.last, r.overAt())
		if now.Before(r.blockedUntil()) {
			when = fmt.Sprintf("the manager %s it again at %s", map[string]string{"repair": "repairs", "deletion": "deletes", "conflict": "creates"}[noun], instant(r.blockedUntil()))
		}
		all = append(all, fmt.Sprintf("%s: %s; %s. %s", key, what, when, remedy(r.by)))
	}
	return strings.Join(all, "; ")
}

// revertedBy returns what a client does, and what the manager does against it.
func revertedBy(by, field string) (what, noun string) {
	switch by {
	case ByCreation:
		return "another client creates it again each time the manager deletes it", "deletion"
	case ByConflict:
		return "other clients keep creating and deleting PodDisruptionBudgets for its pods", "conflict"
	}
	return fmt.Sprintf("%s keeps changing %s back", who(by), field), "repair"
}

func lasting(noun string, last, end time.Time) string {
	if noun == "conflict" {
		return fmt.Sprintf("the latest conflict was at %s; this message is removed at %s without another one", instant(last), instant(end))
	}
	return fmt.Sprintf("the latest %s was at %s; this message is removed at %s if that %[1]s lasts", noun, instant(last), instant(end))
}

func instant(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func who(by string) string {
	switch by {
	case "":
		return "a client that field ownership does not show"
	case ByAdmission:
		return "admission"
	case ByAnyClient:
		return "a client under several names, or none,"
	default:
		return fmt.Sprintf("field manager %q", by)
	}
}

func remedy(by string) string {
	switch by {
	case ByAdmission:
		return "Exclude the object from the mutating webhook or MutatingAdmissionPolicy, or delete the ClusterServiceVersion"
	case ByConflict:
		return "Stop these clients, or remove annotation " + wellknown.AnnotationAvailabilityBudget
	}
	return "Stop that client, or delete the ClusterServiceVersion"
}

// FieldContest records written fields of an object that the manager does not own, and the reverted writes.
type FieldContest struct {
	// Values are the latest written values by field. The value of a removed field is empty.
	Values  map[string]string
	Repairs Contest
}

// Rewritten returns the fields whose latest written value is the same.
func (c FieldContest) Rewritten(fields map[string]string) []string {
	var rewritten []string
	for field, value := range fields {
		if last, wrote := c.Values[field]; wrote && last == value {
			rewritten = append(rewritten, field)
		}
	}
	slices.Sort(rewritten)
	return rewritten
}

// Held returns the fields that another client reverted too often, and until when not to write them.
func (c FieldContest) Held(fields map[string]string, now time.Time) (held []string, until time.Time) {
	if until = c.Repairs.BlockedUntil(now); until.IsZero() {
		return nil, time.Time{}
	}
	if held = c.Rewritten(fields); len(held) == 0 {
		return nil, time.Time{}
	}
	return held, until
}

// RevertedByAdmission is the message about the fields of a kind.
func RevertedByAdmission(fields []string, kind string) string {
	return "admission takes back the change of " + strings.Join(fields, ", ") + ": exclude the " + kind + " from the mutating webhook or MutatingAdmissionPolicy"
}
