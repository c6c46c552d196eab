package informers

import (
	"errors"
	"reflect"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/queue"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// ErrStale ends a reconciliation that waits until the caches show a write or a deletion, which triggers the next.
var ErrStale = errors.New("the caches do not show the last writes yet")

// Expectations records writes until the caches show them. A lost record is harmless: the write is repeated.
type Expectations struct {
	// Grace is how long the caches may lag behind a write.
	Grace   time.Duration
	mutex   sync.Mutex
	pending map[queue.Key][]expectation
}

// Write is a write that the caches do not show yet.
type Write struct {
	Object  drift.Object // as the API server answered
	Changed bool         // the object existed before
	Deleted bool
	At      time.Time
}

// expectation identifies a cached object. Many whole objects would take more memory than the caches.
type expectation struct {
	kind             drift.Object // nil, of the object's type
	namespace, name  string
	uid              types.UID
	version          string
	changed, deleted bool
	at               time.Time
}

// Add records a write of a reconciliation.
func (e *Expectations) Add(k queue.Key, write Write) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if e.pending == nil {
		e.pending = map[queue.Key][]expectation{}
	}
	o := write.Object
	e.pending[k] = append(e.pending[k], expectation{
		kind:      reflect.Zero(reflect.TypeOf(o)).Interface().(drift.Object),
		namespace: o.GetNamespace(), name: o.GetName(), uid: o.GetUID(), version: o.GetResourceVersion(),
		changed: write.Changed, deleted: write.Deleted, at: write.At,
	})
}

// Fulfilled reports whether the caches show all writes for the key, or the grace is over.
func (e *Expectations) Fulfilled(k queue.Key, caches *Caches, now time.Time) bool {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	for _, expected := range e.pending[k] {
		if now.Sub(expected.at) < e.Grace && !expected.shownBy(caches) {
			return false
		}
	}
	delete(e.pending, k)
	return true
}

// IsEcho reports whether an object is as a reconciliation of the key wrote it, which has already used it.
func (e *Expectations) IsEcho(k queue.Key, o drift.Object) bool {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	return slices.ContainsFunc(e.pending[k], func(expected expectation) bool {
		return !expected.changed && !expected.deleted && expected.uid == o.GetUID() && expected.version == o.GetResourceVersion()
	})
}

func (e expectation) shownBy(caches *Caches) bool {
	cached := caches.find(e.kind, e.namespace, e.name)
	switch {
	case e.deleted:
		return cached == nil || cached.GetUID() != e.uid || cached.GetDeletionTimestamp() != nil // its finalizers keep it
	case cached == nil:
		return e.changed // Another client has deleted it since, or removed its label.
	default:
		order, err := resourceversion.CompareResourceVersion(cached.GetResourceVersion(), e.version)
		return err != nil || order >= 0
	}
}
