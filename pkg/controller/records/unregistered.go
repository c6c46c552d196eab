package records

import (
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Unregistered records when the last registration or conversion of a deleted ClusterServiceVersion ended: for a moment
// API servers still call its pods. After a restart nothing is recorded, and nothing waits.
type Unregistered struct {
	mutex sync.Mutex
	at    map[types.UID]unregistration
}

type unregistration struct {
	first, last time.Time // of a series
	blocked     bool      // by something other than API servers
}

const (
	// unregisteredKept is how long such a time matters.
	unregisteredKept = time.Hour
	// unregisteredLimit is how long a series extends the wait: another client may restore again and again what was removed. It is
	// not shorter than the wait for an API server that is late: what is restored meanwhile counts.
	unregisteredLimit = time.Minute
)

// Add records a time of a ClusterServiceVersion. A series ends while something else blocks the deletion, and after a
// pause in which the deletion could have ended: the settle time and the limit.
func (u *Unregistered) Add(csv types.UID, settle time.Duration, now time.Time) {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	maps.DeleteFunc(u.at, func(_ types.UID, recorded unregistration) bool { return now.Sub(recorded.last) > unregisteredKept })
	recorded, known := u.at[csv]
	switch {
	case !known, recorded.blocked, now.Sub(recorded.last) > settle+unregisteredLimit:
		put(&u.at, csv, unregistration{now, now, recorded.blocked})
	case now.Sub(recorded.first) <= unregisteredLimit:
		put(&u.at, csv, unregistration{recorded.first, now, false})
	}
}

// Block records whether something other than API servers blocks the deletion of a ClusterServiceVersion. What blocked
// it until the previous reconciliation counts as ended now: a registration may have ended without a write of the manager.
func (u *Unregistered) Block(csv types.UID, blocked bool, now time.Time) {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	if blocked || u.at[csv].blocked {
		put(&u.at, csv, unregistration{now, now, blocked})
	}
}

// Forget is for a ClusterServiceVersion without a finalizer. A cache may still have it.
func (u *Unregistered) Forget(csv types.UID) {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	delete(u.at, csv)
}

// At returns the recorded time, or the zero time.
func (u *Unregistered) At(csv types.UID) time.Time {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	return u.at[csv].last
}
