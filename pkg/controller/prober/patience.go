package prober

import (
	"sync/atomic"
	"time"
)

// patience is how long one reconciliation waits until API servers have observed a marker. It follows how late they were: a marker
// that is removed before an API server has observed it proves nothing.
type patience struct{ lateness atomic.Int64 }

const (
	// LeastPatience does not delay other decisions of a reconciliation much.
	LeastPatience = 2 * time.Second
	mostPatience  = 8 * time.Second
)

// Patience returns how long a reconciliation that has nothing else to decide waits for API servers.
func (p *Prober) Patience() time.Duration { return p.patience.current() }

func (p *patience) current() time.Duration {
	return min(max(LeastPatience, 2*time.Duration(p.lateness.Load())), mostPatience)
}

// learn records how long API servers took, or were waited for in vain.
func (p *patience) learn(took time.Duration) { p.lateness.Store(int64(took)) }
