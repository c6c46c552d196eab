package records

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// Records are all records of a process.
type Records struct {
	Repairs       Repairs
	CreationTimes CreationTimes // of registrations
	Scopes        Scopes
	RotationSlots RotationSlots
	LabelRefusals LabelRefusals
	FieldContests FieldContests
	Unregistered  Unregistered
	Closings      Closings
	FailOpen      FailOpen
	Calls         Calls
	Beginnings    Beginnings
	Markers       Markers

	SubscriptionReads SubscriptionReads
}

// put stores a value in a map, and creates the map first. The zero value of each record is empty.
func put[K comparable, V any](m *map[K]V, key K, value V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[key] = value
}

// CreationTimes is more precise than metadata.creationTimestamp. A lost record makes a registration a second younger.
type CreationTimes struct {
	mutex   sync.Mutex
	created recentTimes
}

// Add records that an object was created now.
func (t *CreationTimes) Add(o drift.Object, now time.Time) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.created.add(o.GetUID(), now)
}

// Of returns the recorded creation times of some registrations.
func (t *CreationTimes) Of(registrations []types.UID) map[types.UID]time.Time {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	created := map[types.UID]time.Time{}
	for _, uid := range registrations {
		if at, known := t.created.at[uid]; known {
			created[uid] = at
		}
	}
	return created
}
