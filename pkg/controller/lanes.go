package controller

import (
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
)

// lane is one of those in which keys wait to be looked at. A lane moves while nobody waits
// in those before it.
type lane int

const (
	// urgent is for those with something to repair. A change of an OperatorGroup or of a
	// Namespace concerns many ClusterServiceVersions at once, and a webhook that somebody took
	// out of service must not wait for them.
	urgent lane = iota
	// regular is for those about which there is anything new.
	regular
	// spare is for those about which there is nothing but what the manager has just written
	// itself: where many are installed at once, their look at that can wait until all are on
	// their way, and is spared where news comes first.
	spare

	noLane
)

// lanes are the waiting keys.
type lanes struct {
	mutex  sync.Mutex
	causes map[key]lane // the first that anything has asked for since the key was looked at
	heeds  map[key]bool // those that were turned away until the caches show more
	waits  map[key]lane // where each waits; its place in any other lane is passed over
	queues [noLane]workqueue.Queue[key]
}

func newLanes() *lanes {
	l := &lanes{causes: map[key]lane{}, heeds: map[key]bool{}, waits: map[key]lane{}}
	for i := range l.queues {
		l.queues[i] = workqueue.DefaultQueue[key]()
	}
	return l
}

// ask says in which lane a key is to wait, at the latest, when it is added next.
func (l *lanes) ask(k key, wanted lane) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if wanted == spare && l.heeds[k] {
		wanted = regular
	}
	if asked, found := l.causes[k]; !found || wanted < asked {
		l.causes[k] = wanted
	}
}

// heed makes all that comes next new to a key that is being looked at, and whatever has
// come since that began.
func (l *lanes) heed(k key) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.heeds[k] = true
	if l.causes[k] == spare {
		l.causes[k] = regular
	}
}

// Touch moves a key that waits in too late a lane.
func (l *lanes) Touch(k key) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.lane(k) < l.waits[k] {
		l.put(k)
	}
}

// Push adds a key that does not wait yet.
func (l *lanes) Push(k key) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.put(k)
}

func (l *lanes) put(k key) {
	l.waits[k] = l.lane(k)
	l.queues[l.waits[k]].Push(k)
}

// lane is where a key is to wait. For one that comes back by the clock nobody has asked.
func (l *lanes) lane(k key) lane {
	if asked, found := l.causes[k]; found {
		return asked
	}
	return regular
}

// Len is how many keys wait.
func (l *lanes) Len() int {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return len(l.waits)
}

// Pop is the key to look at next.
func (l *lanes) Pop() key {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for i, queue := range l.queues {
		for queue.Len() > 0 {
			k := queue.Pop()
			if at, waits := l.waits[k]; waits && at == lane(i) {
				delete(l.waits, k)
				delete(l.causes, k)
				delete(l.heeds, k)
				return k
			}
		}
	}
	panic("nobody waits") // the queue asks for Len before
}

// queue is what is to be looked at.
type queue struct {
	workqueue.TypedRateLimitingInterface[key]
	lanes *lanes
}

func newQueue() queue {
	const name = "olm-webhook-manager"
	lanes := newLanes()
	waiting := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[key]{Name: name, Queue: lanes})
	return queue{lanes: lanes, TypedRateLimitingInterface: workqueue.NewTypedRateLimitingQueueWithConfig(
		workqueue.NewTypedItemExponentialFailureRateLimiter[key](50*time.Millisecond, time.Minute),
		workqueue.TypedRateLimitingQueueConfig[key]{
			Name: name, DelayingQueue: workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[key]{Name: name, Queue: waiting}),
		})}
}

// Add has a key looked at because of something new.
func (q queue) Add(k key) { q.add(k, regular) }

func (q queue) add(k key, wanted lane) {
	q.lanes.ask(k, wanted)
	q.TypedRateLimitingInterface.Add(k)
}
