package controller

import (
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
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
	// spare is for those about which there is nothing but the time of day, and what the manager
	// has just written itself: where many are installed at once, that can wait until all are on
	// their way, and the look at it is spared where news comes first.
	spare

	noLane
)

// spareShare is which part of the looks is for the spare lane, however much there is that is new.
const spareShare = 8

// lanes are the waiting keys.
type lanes struct {
	mutex  sync.Mutex
	causes map[key]lane // the first that anything has asked for since the key was looked at
	waits  map[key]lane // where each waits; its place in any other lane is passed over
	queues [noLane]workqueue.Queue[key]
	popped int
}

func newLanes() *lanes {
	l := &lanes{causes: map[key]lane{}, waits: map[key]lane{}}
	for i := range l.queues {
		l.queues[i] = workqueue.DefaultQueue[key]()
	}
	return l
}

// ask says in which lane a key is to wait, at the latest, when it is added next.
func (l *lanes) ask(k key, wanted lane) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if asked, found := l.causes[k]; !found || wanted < asked {
		l.causes[k] = wanted
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
	return spare
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
	order := []lane{urgent, regular, spare}
	if l.popped++; l.popped%spareShare == 0 {
		order = []lane{urgent, spare, regular}
	}
	for _, from := range order {
		for l.queues[from].Len() > 0 {
			k := l.queues[from].Pop()
			if at, waits := l.waits[k]; waits && at == from {
				delete(l.waits, k)
				delete(l.causes, k)
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

func newQueue(clock clock.WithTicker) queue {
	const name = "olm-webhook-manager"
	lanes := newLanes()
	waiting := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[key]{Name: name, Queue: lanes})
	return queue{lanes: lanes, TypedRateLimitingInterface: workqueue.NewTypedRateLimitingQueueWithConfig(
		workqueue.NewTypedItemExponentialFailureRateLimiter[key](50*time.Millisecond, time.Minute),
		workqueue.TypedRateLimitingQueueConfig[key]{
			Name: name, DelayingQueue: workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[key]{Name: name, Clock: clock, Queue: waiting}),
		})}
}

// Add has a key looked at because of something new.
func (q queue) Add(k key) { q.add(k, regular) }

func (q queue) add(k key, wanted lane) {
	q.lanes.ask(k, wanted)
	q.TypedRateLimitingInterface.Add(k)
}
