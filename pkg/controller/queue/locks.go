package queue

import "sync"

// Locks allows one reconciliation in a namespace without blocking a worker: a key waits here for its slot.
type Locks struct {
	add     func(Key)
	mutex   sync.Mutex
	locked  map[string]bool  // by namespace
	waiting map[string][]Key // by namespace, in the order of their arrival
	waits   map[Key]bool
}

// NewLocks returns locks that add keys by a function.
func NewLocks(add func(Key)) *Locks {
	return &Locks{add: add, locked: map[string]bool{}, waiting: map[string][]Key{}, waits: map[Key]bool{}}
}

// TryLock locks the namespace of a key. If it is locked, the key waits.
func (l *Locks) TryLock(k Key) bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if !l.locked[k.Namespace] {
		l.locked[k.Namespace] = true
		return true
	}
	if !l.waits[k] {
		l.waits[k] = true
		l.waiting[k.Namespace] = append(l.waiting[k.Namespace], k)
	}
	return false
}

// Unlock unlocks a namespace. The caller calls Next afterwards.
func (l *Locks) Unlock(namespace string) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	delete(l.locked, namespace)
}

// Next adds the key that waits longest for a namespace, unless that is locked. Every reconciliation in the
// namespace calls it at its end, also without the lock: the key that was added before may not need it any
// more, and the next one would wait for ever.
func (l *Locks) Next(namespace string) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	keys := l.waiting[namespace]
	if l.locked[namespace] || len(keys) == 0 {
		return
	}
	if l.waiting[namespace] = keys[1:]; len(keys) == 1 {
		delete(l.waiting, namespace)
	}
	delete(l.waits, keys[0])
	l.add(keys[0])
}
