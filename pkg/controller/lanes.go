package controller

import (
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
)

// lanes are where keys wait to be looked at: those with something to repair in one, all
// others in another, which moves while there is nothing to repair. A change of an
// OperatorGroup or of a Namespace concerns many ClusterServiceVersions at once, and a webhook
// that somebody took out of service must not wait for them.
type lanes struct {
	mutex  sync.Mutex
	urgent map[key]bool // whether they wait or not
	waits  map[key]bool // those of the slow lane
	fast   workqueue.Queue[key]
	slow   workqueue.Queue[key]
}

func newLanes() *lanes {
	return &lanes{urgent: map[key]bool{}, waits: map[key]bool{}, fast: workqueue.DefaultQueue[key](), slow: workqueue.DefaultQueue[key]()}
}

func newQueue(l *lanes) workqueue.TypedRateLimitingInterface[key] {
	const name = "olm-webhook-manager"
	waiting := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[key]{Name: name, Queue: l})
	return workqueue.NewTypedRateLimitingQueueWithConfig(
		workqueue.NewTypedItemExponentialFailureRateLimiter[key](50*time.Millisecond, time.Minute),
		workqueue.TypedRateLimitingQueueConfig[key]{
			Name: name, DelayingQueue: workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[key]{Name: name, Queue: waiting}),
		})
}

// hurry puts a key into the fast lane when it is added next.
func (l *lanes) hurry(k key) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.urgent[k] = true
}

// Touch moves a key that waits, once it is urgent.
func (l *lanes) Touch(k key) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.urgent[k] && l.waits[k] {
		delete(l.waits, k) // its place in the slow lane is passed over
		l.fast.Push(k)
	}
}

// Push adds a key that does not wait yet.
func (l *lanes) Push(k key) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.urgent[k] {
		l.fast.Push(k)
		return
	}
	l.waits[k] = true
	l.slow.Push(k)
}

// Len is how many keys wait.
func (l *lanes) Len() int {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.fast.Len() + len(l.waits)
}

// Pop is the key to look at next.
func (l *lanes) Pop() key {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.fast.Len() > 0 {
		k := l.fast.Pop()
		delete(l.urgent, k)
		return k
	}
	k := l.slow.Pop()
	for !l.waits[k] {
		k = l.slow.Pop()
	}
	delete(l.waits, k)
	return k
}
