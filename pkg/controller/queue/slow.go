package queue

import (
	"slices"
	"sync"
	"time"
)

const (
	// slowAfter is the duration from which a reconciliation counts as slow: pods that do not answer, or requests that an
	// admission webhook holds.
	slowAfter = time.Second
	// slowFor is how long a key counts as slow after a slow reconciliation.
	slowFor = 5 * time.Minute
)

// SlowKeys limits how many workers reconcile slow keys at once: a quarter of them for one namespace, and a half for all
// namespaces. So tenants whose webhooks do not answer cannot occupy all workers. A key that waits occupies none.
type SlowKeys struct {
	limit   int // in one namespace
	total   int // in all namespaces
	now     func() time.Time
	add     func(Key)
	mutex   sync.Mutex
	slow    map[Key]time.Time // the end of the last slow reconciliation
	running map[string]int    // slow keys by namespace
	all     int               // the sum of running
	waiting []Key             // in the order of their arrival
}

// NewSlowKeys returns a SlowKeys for a number of workers. It calls add for a key that has waited and may start.
func NewSlowKeys(workers int, now func() time.Time, add func(Key)) *SlowKeys {
	return &SlowKeys{limit: max(workers/4, 1), total: max(workers/2, 1), now: now, add: add, slow: map[Key]time.Time{}, running: map[string]int{}}
}

// Start reports whether a key may be reconciled now. If not, the key waits. The caller calls end with the duration of the
// reconciliation.
func (s *SlowKeys) Start(k Key) (end func(took time.Duration), ok bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	counts := s.isSlow(k)
	if counts && !s.hasRoom(k) {
		if !slices.Contains(s.waiting, k) {
			s.waiting = append(s.waiting, k)
		}
		return nil, false
	}
	if counts {
		s.running[k.Namespace]++
		s.all++
	}
	return func(took time.Duration) { s.end(k, counts, took) }, true
}

func (s *SlowKeys) isSlow(k Key) bool {
	last, found := s.slow[k]
	return found && s.now().Sub(last) < slowFor
}

func (s *SlowKeys) hasRoom(k Key) bool { return s.all < s.total && s.running[k.Namespace] < s.limit }

func (s *SlowKeys) end(k Key, counted bool, took time.Duration) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if took >= slowAfter {
		s.remember(k)
	}
	if counted {
		s.all--
		if s.running[k.Namespace]--; s.running[k.Namespace] == 0 {
			delete(s.running, k.Namespace)
		}
	}
	s.next()
}

func (s *SlowKeys) remember(k Key) {
	for other := range s.slow {
		if !s.isSlow(other) {
			delete(s.slow, other)
		}
	}
	s.slow[k] = s.now()
}

// next adds the key that waits longest and may start. Every reconciliation calls it at its end: the key that was added
// before may not be slow any more, and the next one would wait for ever.
func (s *SlowKeys) next() {
	i := slices.IndexFunc(s.waiting, s.hasRoom)
	if i < 0 {
		return
	}
	k := s.waiting[i]
	s.waiting = slices.Delete(s.waiting, i, i+1)
	s.add(k)
}
