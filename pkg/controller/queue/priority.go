package queue

import (
	"sync"

	"k8s.io/client-go/util/workqueue"
)

// Priority orders the keys that wait. A key is handed out when no key with a higher priority waits.
// Every eighth time a key of low priority precedes those of regular priority.
type Priority int

const (
	// Urgent is for repairs. A webhook that another client removed must not wait for the many
	// ClusterServiceVersions that a change of an OperatorGroup or of a Namespace adds.
	Urgent Priority = iota
	// Regular is for objects that a change affects.
	Regular
	// Low is for resyncs, and for changes of the manager itself: a more urgent change may come first.
	Low

	priorities
)

// One in lowShare reconciliations is for low priority even while others wait.
const lowShare = 8

type priorityQueue struct {
	mutex     sync.Mutex
	requested map[Key]Priority // the highest that was requested since the key was handed out
	waits     map[Key]Priority // the queue in which each key waits; entries in other queues are stale
	queues    [priorities]workqueue.Queue[Key]
	popped    int
}

func newPriorityQueue() *priorityQueue {
	q := &priorityQueue{requested: map[Key]Priority{}, waits: map[Key]Priority{}}
	for i := range q.queues {
		q.queues[i] = workqueue.DefaultQueue[Key]()
	}
	return q
}

func (q *priorityQueue) raise(k Key, p Priority) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if requested, found := q.requested[k]; !found || p < requested {
		q.requested[k] = p
	}
}

// Touch moves a key that waits with a lower priority than was requested since.
func (q *priorityQueue) Touch(k Key) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if q.priority(k) < q.waits[k] {
		q.put(k)
	}
}

// Push adds a key that does not wait yet.
func (q *priorityQueue) Push(k Key) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	q.put(k)
}

func (q *priorityQueue) put(k Key) {
	q.waits[k] = q.priority(k)
	q.queues[q.waits[k]].Push(k)
}

// priority returns the priority that was requested for a key. A delayed key has none.
func (q *priorityQueue) priority(k Key) Priority {
	if requested, found := q.requested[k]; found {
		return requested
	}
	return Low
}

// Len returns the number of keys that wait.
func (q *priorityQueue) Len() int {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	return len(q.waits)
}

// Pop removes the next key and returns it.
func (q *priorityQueue) Pop() Key {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	order := []Priority{Urgent, Regular, Low}
	if q.popped++; q.popped%lowShare == 0 {
		order = []Priority{Urgent, Low, Regular}
	}
	for _, p := range order {
		for q.queues[p].Len() > 0 {
			k := q.queues[p].Pop()
			if at, waits := q.waits[k]; waits && at == p {
				delete(q.waits, k)
				delete(q.requested, k)
				return k
			}
		}
	}
	panic("no key waits") // The work queue calls Len first.
}
