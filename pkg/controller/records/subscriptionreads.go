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
	cached map[types.UID]time.Time // when the caches had a version
	order  []types.UID             // the oldest first
	none   map[string]time.Time    // when the last read without a result began, by namespace
}

// versionKept is how long it is recorded when the caches had a version. An older version needs a read of its own.
const versionKept = time.Minute

// AddVersion records that the caches have a version.
func (r *SubscriptionReads) AddVersion(uid types.UID, now time.Time) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for len(r.order) > 0 && now.Sub(r.cached[r.order[0]]) > versionKept {
		delete(r.cached, r.order[0])
		r.order = r.order[1:]
	}
	if _, known := r.cached[uid]; !known {
		put(&r.cached, uid, now)
		r.order = append(r.order, uid)
	}
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
	cached, known := r.cached[version]
	return known && r.none[namespace].After(cached)
}
