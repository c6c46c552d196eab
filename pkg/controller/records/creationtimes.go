package records

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// CreationTimes is more precise than metadata.creationTimestamp, which has whole seconds. A lost record is
// harmless: a registration counts as up to one second younger.
type CreationTimes struct {
	mutex sync.Mutex
	at    map[types.UID]time.Time
	order []types.UID // the oldest first
}

// creationTimeKept is how long a creation time matters.
const creationTimeKept = time.Minute

// Add records that an object was created now.
func (t *CreationTimes) Add(o drift.Object, now time.Time) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if t.at == nil {
		t.at = map[types.UID]time.Time{}
	}
	for len(t.order) > 0 && now.Sub(t.at[t.order[0]]) > creationTimeKept {
		delete(t.at, t.order[0])
		t.order = t.order[1:]
	}
	t.at[o.GetUID()] = now
	t.order = append(t.order, o.GetUID())
}

// Of returns the recorded creation times of some registrations.
func (t *CreationTimes) Of(registrations []types.UID) map[types.UID]time.Time {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	created := map[types.UID]time.Time{}
	for _, uid := range registrations {
		if at, known := t.at[uid]; known {
			created[uid] = at
		}
	}
	return created
}
