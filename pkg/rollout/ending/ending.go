// Package ending decides for how long API servers may still call webhooks whose registrations have ended. What they call must
// exist until then.
package ending

import (
	"strings"
	"time"
)

// Found is which API servers had not observed at a time what was written before, by address.
type Found struct {
	At     time.Time
	Behind []string
}

// Wait is for registrations that have ended.
type Wait struct {
	// Ended is when the last one ended. An answer of API servers counts if they were asked later.
	Ended time.Time
	// Settle is how long API servers may take to observe that. Then they are asked.
	Settle time.Duration
	// Found is nil if they were not asked.
	Found *Found
}

// State is that of a Wait.
type State int

// The states of a Wait.
const (
	Over    State = iota // no API server calls the webhooks, as far as it is known
	Unasked              // API servers must be asked
	Lasts                // some API server may call the webhooks
)

// Decision is the state of a Wait, when it may change, and why it lasts.
type Decision struct {
	State  State
	Until  time.Time
	Reason string
}

const (
	// behindLimit is how long an API server is waited for that still calls the webhooks. After that, its calls can fail.
	behindLimit = time.Minute
	// askPause is the pause before API servers are asked again.
	askPause = time.Second
)

// Decide returns the state of a Wait. API servers that cannot be asked have the settle time.
func (w Wait) Decide(now time.Time) Decision {
	settled, limit := w.Ended.Add(w.Settle), w.Ended.Add(w.Settle+behindLimit)
	switch {
	case now.Before(settled):
		return Decision{Lasts, settled, "API servers may still call the webhooks"}
	case !now.Before(limit):
		return Decision{}
	case w.Found == nil || w.Found.At.Before(settled):
		return Decision{State: Unasked}
	case len(w.Found.Behind) > 0:
		return Decision{Lasts, now.Add(askPause), "these API servers still call the webhooks: " + strings.Join(w.Found.Behind, ", ")}
	default:
		return Decision{}
	}
}
