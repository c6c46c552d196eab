package records

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// SubscriptionReads records in which namespaces the API server had no Subscription. This holds for all versions of the
// namespace that the caches had before the read. Their Subscriptions would have been created first.
type SubscriptionReads struct {
	mutex  sync.Mutex
	cached recentTimes          // when the caches had a version; an older version needs a read of its own
	none   map[string]time.Time // when the last read without a result began, by namespace
}

// AddVersion records that the caches have a version.
func (r *SubscriptionReads) AddVersion(uid types.UID, now time.Time) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.cached.add(uid, now)
}

// AddNone records that a read found no Subscription in a namespace, and when the read began.
func (r *SubscriptionReads) AddNone(namespace string, began time.Time) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.none[namespace].Before(began) {
		put(&r.none, namespace, began)
	}
}

// HasNone reports whether the namespace is known to have had no Subscription when a version was created.
func (r *SubscriptionReads) HasNone(namespace string, version types.UID) bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	cached, known := r.cached.at[version]
	return known && r.none[namespace].After(cached)
}
