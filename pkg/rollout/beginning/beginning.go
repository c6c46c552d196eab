// Package beginning decides whether every API server calls a new webhook.
package beginning

import (
	"strings"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/webhookconfig"
)

// Answer is what API servers have observed of one kind of webhook configurations.
type Answer struct {
	// Asked is when they were asked last: about all earlier writes.
	Asked time.Time
	// Answered is when that ended.
	Answered time.Time
	// Behind are the addresses of the API servers that had not observed all of them.
	Behind []string
	// Unknown is why it is not known what API servers have observed; empty if it is.
	Unknown string
	// Observed is the last time about which it is known that all API servers have observed the earlier writes.
	Observed time.Time
}

// Answers are those about each kind of webhook configurations. The zero value is that API servers were not asked.
type Answers struct{ Validating, Mutating Answer }

// With returns the answers after another one about some kinds.
func (a Answers) With(kinds webhookconfig.Kinds, asked, answered time.Time, behind []string, unknown string) Answers {
	if kinds.Validating {
		a.Validating = a.Validating.next(asked, answered, behind, unknown)
	}
	if kinds.Mutating {
		a.Mutating = a.Mutating.next(asked, answered, behind, unknown)
	}
	return a
}

func (a Answer) next(asked, answered time.Time, behind []string, unknown string) Answer {
	next := Answer{asked, answered, behind, unknown, a.Observed}
	if len(behind) == 0 && unknown == "" {
		next.Observed = asked
	}
	return next
}

// State is that of a registration.
type State int

// The states of a registration.
const (
	Observed State = iota // by each API server, as far as it is known
	Unasked               // API servers must be asked
	Waits                 // some API server may not call the webhook yet
)

// Decision is the state of a registration, when it may change, and the addresses of API servers that do not call the webhook yet.
type Decision struct {
	State  State
	Until  time.Time
	Behind []string
}

const (
	// behindLimit is how long an API server is waited for.
	behindLimit = time.Minute
	// askPause is the pause before API servers are asked again.
	askPause = time.Second
	// unknownTime is how long API servers that could not be asked are not asked again: that can take seconds.
	unknownTime = time.Minute
)

// Decide returns the state of a webhook that was registered at a time, or before: it is now if it is not known, and in the future if
// it is known in whole seconds. API servers that cannot be asked have the settle time.
func (a Answer) Decide(registered time.Time, settle time.Duration, now time.Time) Decision {
	settled, limit := registered.Add(settle), registered.Add(behindLimit)
	switch {
	case a.Observed.After(registered), !now.Before(limit):
		return Decision{}
	case registered.After(now):
		return Decision{State: Waits, Until: registered}
	case registered.Equal(now):
		return Decision{State: Waits, Until: now.Add(askPause)}
	case len(a.Behind) > 0 && a.Asked.After(registered):
		if again := a.Answered.Add(askPause); now.Before(again) {
			return Decision{Waits, again, a.Behind}
		}
		return Decision{Unasked, limit, a.Behind}
	case a.Unknown == "" || !now.Before(a.Answered.Add(unknownTime)):
		return Decision{State: Unasked, Until: limit}
	case now.Before(settled):
		return Decision{State: Waits, Until: settled}
	default:
		return Decision{}
	}
}

// Reason describes for whom a registration waits.
func (d Decision) Reason() string {
	if len(d.Behind) == 0 {
		return "every API server"
	}
	return "these API servers: " + strings.Join(d.Behind, ", ")
}
