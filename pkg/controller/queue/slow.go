package queue

import (
	"slices"
	"sync"
	"time"
)

// slowAfter is from when a reconciliation is slow: pods do not answer, or an admission webhook holds requests.
const slowAfter = time.Second

// SlowKeys limits how many workers reconcile slow keys of one namespace at once, so that a tenant does not occupy all of
// them. A key is slow if its last reconciliation was. A key that waits occupies no worker.
type SlowKeys struct {
	limit   int
	add     func(Key)
	mutex   sync.Mutex
	slow    map[Key]bool
	running map[string]int   // slow keys by namespace
	waiting map[string][]Key // by namespace, in the order of their arrival
}

// NewSlowKeys returns the keys of no reconciliation yet. They are added by a function when they have waited.
func NewSlowKeys(limit int, add func(Key)) *SlowKeys {
	return &SlowKeys{limit: max(limit, 1), add: add, slow: map[Key]bool{}, running: map[string]int{}, waiting: map[string][]Key{}}
}

// Start reports whether a key may be reconciled now. If not, the key waits. The caller calls end with the duration of the
// reconciliation. One that was not completed does not show whether the key is still slow.
func (s *SlowKeys) Start(k Key) (end func(took time.Duration, completed bool), ok bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	counts := s.slow[k]
	if counts && s.running[k.Namespace] >= s.limit {
		if !slices.Contains(s.waiting[k.Namespace], k) {
			s.waiting[k.Namespace] = append(s.waiting[k.Namespace], k)
		}
		return nil, false
	}
	if counts {
		s.running[k.Namespace]++
	}
	return func(took time.Duration, completed bool) { s.end(k, counts, took, completed) }, true
}

func (s *SlowKeys) end(k Key, counted bool, took time.Duration, completed bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	switch {
	case took >= slowAfter:
		s.slow[k] = true
	case completed:
		delete(s.slow, k)
	}
	if counted {
		if s.running[k.Namespace]--; s.running[k.Namespace] == 0 {
			delete(s.running, k.Namespace)
		}
	}
	if s.running[k.Namespace] < s.limit {
		s.next(k.Namespace)
	}
}

// next adds the key that waits longest. Each reconciliation ends with it, as the previous key may not be slow any more.
func (s *SlowKeys) next(namespace string) {
	keys := s.waiting[namespace]
	if len(keys) == 0 {
		return
	}
	if s.waiting[namespace] = keys[1:]; len(keys) == 1 {
		delete(s.waiting, namespace)
	}
	s.add(keys[0])
}
