package records

import (
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Closings records when deleted versions began to close their webhooks.
type Closings struct {
	mutex sync.Mutex
	began map[types.UID]time.Time
}

const (
	// closingLimit is for how long a deletion waits until webhooks are closed: a write may be refused, and another client may open
	// them again.
	closingLimit = 30 * time.Second
	// closingKept is how long a time matters.
	closingKept = time.Hour
)

// Lasts reports whether a ClusterServiceVersion may still close its webhooks. The first call begins the time.
func (c *Closings) Lasts(csv types.UID, now time.Time) bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	maps.DeleteFunc(c.began, func(_ types.UID, began time.Time) bool { return now.Sub(began) > closingKept })
	if _, known := c.began[csv]; !known {
		put(&c.began, csv, now)
	}
	return now.Sub(c.began[csv]) < closingLimit
}
