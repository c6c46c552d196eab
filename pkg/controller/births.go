package controller

import (
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
)

// births are when this process created registrations, by ClusterServiceVersion: the API
// server tells it in whole seconds alone. To forget is harmless: a registration counts as up
// to a second younger.
type births struct {
	mutex sync.Mutex
	of    map[types.NamespacedName]map[types.UID]time.Time
}

// birthKept is how long they matter.
const birthKept = time.Minute

func (b *births) note(csv types.NamespacedName, o rollout.Object, now time.Time) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if b.of == nil {
		b.of = map[types.NamespacedName]map[types.UID]time.Time{}
	}
	if b.of[csv] == nil {
		b.of[csv] = map[types.UID]time.Time{}
	}
	b.of[csv][o.GetUID()] = now
}

// lately are those of a ClusterServiceVersion that matter; all others are forgotten.
func (b *births) lately(csv types.NamespacedName, now time.Time) map[types.UID]time.Time {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	maps.DeleteFunc(b.of[csv], func(_ types.UID, at time.Time) bool { return now.Sub(at) > birthKept })
	if len(b.of[csv]) == 0 {
		delete(b.of, csv)
		return map[types.UID]time.Time{}
	}
	return maps.Clone(b.of[csv])
}

func (b *births) forget(csv types.NamespacedName) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	delete(b.of, csv)
}
