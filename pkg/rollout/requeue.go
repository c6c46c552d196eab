package rollout

import "time"

// Requeue is when to reconcile although nothing changes, and why. The zero value means never.
type Requeue struct {
	At     time.Time
	Reason string
}

// Never reports whether only a change causes the next reconciliation.
func (r Requeue) Never() bool { return r.At.IsZero() }

// Earliest returns the earliest of some requeues.
func (r Requeue) Earliest(others ...Requeue) Requeue {
	for _, other := range others {
		if r.Never() || !other.Never() && other.At.Before(r.At) {
			r = other
		}
	}
	return r
}
