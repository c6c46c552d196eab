// Package judge says which invariants a history violates. It knows the API of Kubernetes and of OLM, and nothing of the
// manager: no name of a label, a reason or a package. It is pure.
package judge

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/robustness/history"
)

// Violation is one breach of an invariant.
type Violation struct {
	// Invariant is its number, such as "I2".
	Invariant string
	// Event is the index of the event that shows it.
	Event   int
	At      time.Time
	Object  history.Ref
	Message string
}

// String returns the violation in one line.
func (v Violation) String() string {
	return fmt.Sprintf("%s at event %d (%s): %s: %s", v.Invariant, v.Event, v.At.Format("15:04:05.000"), v.Object, v.Message)
}

// Invariant is one rule for all histories.
type Invariant struct {
	Number string
	// Rule is what must hold, in one sentence.
	Rule string
	// check reports each event that breaks the rule. The cluster is the one after the event.
	check func(c *cluster, e history.Event, report func(history.Ref, string, ...any))
}

// Invariants are the rules for a single history. I10 and I14 compare two: see SameEnd and Growth.
var Invariants = []Invariant{
	{"I1", "a registration is created only after a handshake with each ready pod, and with all its namespaces labelled", registersAfterProof},
	{"I2", "each registration that an API server uses verifies each ready pod", trustsPods},
	{"I3", "a removal of trust, and another certificate for pods, rest on live reads", restsOnLiveReads},
	{"I4", "no registration gets weaker without its author or an administrator", neverWeaker},
	{"I5", "no call fails outside an outage", noCallFails},
	{"I6", "no conversion ends while objects depend on it", keepsConversions},
	{"I7", "no private key of a CA is stored, and no private key is reported", keepsKeys},
	{"I9", "only objects that are the manager's by uid are changed", changesOnlyItsOwn},
	{"I11", "no write without a change, and no fight without limit", writesLittle},
	{"I12", "no webhook keeps its own backend from running", keepsBackends},
	{"I13", "what stops progress is reported within 30 s", reportsStops},
}

// Judge returns what a history violates, by event. Each invariant reports an object once for each message.
func Judge(h history.History) []Violation {
	c := newCluster(h)
	type once struct {
		invariant string
		object    history.Ref
		message   string
	}
	seen := map[once]bool{}
	var all []Violation
	for i, e := range h.Events {
		c.apply(e)
		for _, invariant := range Invariants {
			invariant.check(c, e, func(object history.Ref, format string, args ...any) {
				v := Violation{invariant.Number, i, e.At, object, fmt.Sprintf(format, args...)}
				if id := (once{v.Invariant, v.Object, v.Message}); !seen[id] {
					seen[id] = true
					all = append(all, v)
				}
			})
		}
	}
	slices.SortStableFunc(all, func(a, b Violation) int { return cmp.Compare(a.Event, b.Event) })
	return all
}
