package records

import (
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
)

// SubscriptionReads are lists of Subscriptions that were read from the API server. A list is for all versions of its
// namespace that the caches had before it was read: the Subscription of such a version is in the list if it was created first.
type SubscriptionReads struct {
	mutex  sync.Mutex
	cached map[types.UID]time.Time // when the caches had a version
	order  []types.UID             // the oldest first
	reads  map[string]subscriptionRead
}

type subscriptionRead struct {
	began time.Time
	found []*operatorsv1alpha1.Subscription
}

// subscriptionReadKept is how long a list is used. A version that was created later is not in the caches for as long.
const subscriptionReadKept = time.Minute

// AddVersion records that the caches have a version.
func (r *SubscriptionReads) AddVersion(uid types.UID, now time.Time) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for len(r.order) > 0 && now.Sub(r.cached[r.order[0]]) > subscriptionReadKept {
		delete(r.cached, r.order[0])
		r.order = r.order[1:]
	}
	if _, known := r.cached[uid]; !known {
		put(&r.cached, uid, now)
		r.order = append(r.order, uid)
	}
}

// Add records the Subscriptions of a namespace, and when the read of them began.
func (r *SubscriptionReads) Add(namespace string, began time.Time, found []*operatorsv1alpha1.Subscription) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	maps.DeleteFunc(r.reads, func(_ string, read subscriptionRead) bool { return began.Sub(read.began) > subscriptionReadKept })
	if r.reads[namespace].began.Before(began) {
		put(&r.reads, namespace, subscriptionRead{began, found})
	}
}

// Of returns the Subscriptions of a namespace if they were read after the caches had a version.
func (r *SubscriptionReads) Of(namespace string, version types.UID) (found []*operatorsv1alpha1.Subscription, known bool) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	cached, known := r.cached[version]
	read := r.reads[namespace]
	return read.found, known && read.began.After(cached)
}
