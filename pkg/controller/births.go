package controller

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// births are when this process created registrations: the API server tells it in whole
// seconds alone. To forget is harmless: a registration counts as up to a second younger.
type births struct {
	mutex sync.Mutex
	at    map[types.UID]time.Time
	order []types.UID // the eldest first
}

// birthKept is how long they matter.
const birthKept = time.Minute

func (b *births) note(o drift.Object, now time.Time) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if b.at == nil {
		b.at = map[types.UID]time.Time{}
	}
	for len(b.order) > 0 && now.Sub(b.at[b.order[0]]) > birthKept {
		delete(b.at, b.order[0])
		b.order = b.order[1:]
	}
	b.at[o.GetUID()] = now
	b.order = append(b.order, o.GetUID())
}

// of are those of some registrations, as far as they are remembered.
func (b *births) of(registrations []types.UID) map[types.UID]time.Time {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	born := map[types.UID]time.Time{}
	for _, uid := range registrations {
		if at, known := b.at[uid]; known {
			born[uid] = at
		}
	}
	return born
}
