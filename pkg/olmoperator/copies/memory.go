package copies

import (
	"sync"
	"time"

	utilcache "k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/tools/cache"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmoperator/copies/plan"
)

const (
	// unseenFor is how long a created copy may be absent from the caches.
	unseenFor = 10 * time.Second
	// Deletions are remembered to limit how often another client's copy is deleted again.
	deletionsKept = 1024
	deletionsLast = time.Hour
)

// written records the latest write to each copy. A lost record is harmless: annotation and managed fields of the copy
// have nearly the same information.
type written struct {
	mutex   sync.Mutex
	latest  map[cache.ObjectName]version
	unseen  map[cache.ObjectName]time.Time // since when
	deleted *utilcache.LRUExpireCache
}

type version struct{ resource, state string }

func newWritten() *written {
	return &written{latest: map[cache.ObjectName]version{}, unseen: map[cache.ObjectName]time.Time{}, deleted: utilcache.NewLRUExpireCache(deletionsKept)}
}

func (w *written) wrote(name cache.ObjectName, resource, state string) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.latest[name] = version{resource, state}
	w.deleted.Remove(name)
}

// created also records that no cache shows the copy yet.
func (w *written) created(name cache.ObjectName, resource, state string, now time.Time) {
	w.wrote(name, resource, state)
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.unseen[name] = now
}

// seen records what the caches show, and reports whether that is the latest write.
func (w *written) seen(name cache.ObjectName, resource string) bool {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	latest, known := w.latest[name]
	if !known {
		return false
	}
	if order, err := resourceversion.CompareResourceVersion(resource, latest.resource); err != nil || order >= 0 {
		delete(w.unseen, name)
	}
	return latest.resource == resource
}

func (w *written) of(name cache.ObjectName, now time.Time) plan.Written {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	since, unseen := w.unseen[name]
	latest := w.latest[name]
	return plan.Written{ResourceVersion: latest.resource, State: latest.state, Unseen: unseen && now.Sub(since) < unseenFor}
}

func (w *written) forget(name cache.ObjectName) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	delete(w.latest, name)
	delete(w.unseen, name)
}

func (w *written) recordDeletion(name cache.ObjectName) {
	w.forget(name)
	w.deleted.Add(name, nil, deletionsLast)
}

func (w *written) isDeleted(name cache.ObjectName) bool {
	_, deleted := w.deleted.Get(name)
	return deleted
}

// states remembers the state of each original, which is compared with each of its copies.
type states struct {
	mutex sync.Mutex
	known map[cache.ObjectName]knownState
}

type knownState struct {
	of    *operatorsv1alpha1.ClusterServiceVersion // as it is cached
	state plan.State
}

func (s *states) of(csv *operatorsv1alpha1.ClusterServiceVersion) plan.State {
	name := cache.MetaObjectToName(csv)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if known := s.known[name]; known.of == csv {
		return known.state
	}
	if s.known == nil {
		s.known = map[cache.ObjectName]knownState{}
	}
	state := plan.StateOf(csv)
	s.known[name] = knownState{csv, state}
	return state
}

func (s *states) forget(name cache.ObjectName) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	delete(s.known, name)
}

// pending has the copies of operators of all namespaces that are missing, or that exist although copies are disabled.
type pending struct {
	mutex sync.Mutex
	names map[cache.ObjectName]bool
}

// set returns whether there are pending copies now and were none, or the reverse.
func (p *pending) set(name cache.ObjectName, is bool) (changed bool) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	before := len(p.names) == 0
	if is {
		if p.names == nil {
			p.names = map[cache.ObjectName]bool{}
		}
		p.names[name] = true
	} else {
		delete(p.names, name)
	}
	return before != (len(p.names) == 0)
}

func (p *pending) none() bool {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return len(p.names) == 0
}
