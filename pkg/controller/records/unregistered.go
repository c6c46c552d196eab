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
	at    map[types.UID]time.Time
}

// unregisteredKept is how long such a time matters.
const unregisteredKept = time.Hour

// Add records the time of a ClusterServiceVersion.
func (u *Unregistered) Add(csv types.UID, now time.Time) {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	if u.at == nil {
		u.at = map[types.UID]time.Time{}
	}
	for uid, at := range u.at {
		if now.Sub(at) > unregisteredKept {
			delete(u.at, uid)
		}
	}
	u.at[csv] = now
}

// At returns the recorded time, or the zero time.
func (u *Unregistered) At(csv types.UID) time.Time {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	return u.at[csv]
}
