package records

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// recentTimes are times by UID, each for a minute.
type recentTimes struct {
	at    map[types.UID]time.Time
	order []types.UID // the oldest first
}

const recentTimeKept = time.Minute

// add keeps the first time of a UID.
func (t *recentTimes) add(uid types.UID, now time.Time) {
	for len(t.order) > 0 && now.Sub(t.at[t.order[0]]) > recentTimeKept {
		delete(t.at, t.order[0])
		t.order = t.order[1:]
	}
	if _, known := t.at[uid]; !known {
		put(&t.at, uid, now)
		t.order = append(t.order, uid)
	}
}
