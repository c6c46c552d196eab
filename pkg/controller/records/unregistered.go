package records

import (
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

type unregistration struct{ first, last time.Time }

const (
	// unregisteredKept is how long such a time matters.
	unregisteredKept = time.Hour
	// unregisteredLimit is how long another client that restores what was removed can extend the wait.
	unregisteredLimit = 10 * time.Second
)

// Add records the time of a ClusterServiceVersion.
func (u *Unregistered) Add(csv types.UID, now time.Time) {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	if u.at == nil {
		u.at = map[types.UID]unregistration{}
	}
	for uid, recorded := range u.at {
		if now.Sub(recorded.last) > unregisteredKept {
			delete(u.at, uid)
		}
	}
	recorded, known := u.at[csv]
	switch {
	case !known:
		u.at[csv] = unregistration{now, now}
	case now.Sub(recorded.first) <= unregisteredLimit:
		u.at[csv] = unregistration{recorded.first, now}
	}
}

// At returns the recorded time, or the zero time.
func (u *Unregistered) At(csv types.UID) time.Time {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	return u.at[csv].last
}
