package rollout

import "time"

// Requeue is when to reconcile although nothing changes, and why. The zero value means never.
type Requeue struct {
	At     time.Time
	Reason string
}

// Earliest returns the earlier of two requeues. A zero time is never.
func (r Requeue) Earliest(other Requeue) Requeue {
	if r.At.IsZero() || !other.At.IsZero() && other.At.Before(r.At) {
		return other
	}
	return r
}
