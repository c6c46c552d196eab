// Package queue holds the keys of the objects that wait for a reconciliation.
package queue

import (
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
)

// Queue is the rate-limited work queue of the controller. It hands out keys by priority.
type Queue struct {
	workqueue.TypedRateLimitingInterface[Key]
	waiting *priorityQueue
}

// New returns an empty queue. The clock, which may be nil, times delays.
func New(clock clock.WithTicker) Queue {
	const name = "olm-webhook-manager"
	waiting := newPriorityQueue()
	immediate := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[Key]{Name: name, Queue: waiting})
	return Queue{waiting: waiting, TypedRateLimitingInterface: workqueue.NewTypedRateLimitingQueueWithConfig(
		workqueue.NewTypedItemExponentialFailureRateLimiter[Key](50*time.Millisecond, time.Minute),
		workqueue.TypedRateLimitingQueueConfig[Key]{
			Name: name, DelayingQueue: workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[Key]{Name: name, Clock: clock, Queue: immediate}),
		})}
}

// Add adds a key because its object, or an object that it depends on, has changed.
func (q Queue) Add(k Key) { q.AddWithPriority(k, Regular) }

// AddWithPriority adds a key with a priority.
func (q Queue) AddWithPriority(k Key, p Priority) {
	q.Raise(k, p)
	q.TypedRateLimitingInterface.Add(k)
}

// Raise sets the lowest priority with which a key is added next.
func (q Queue) Raise(k Key, p Priority) { q.waiting.raise(k, p) }

// Kind is the kind of the object that a key names.
type Kind string

// The kinds.
const (
	CSV           Kind = "ClusterServiceVersion"
	OperatorGroup Kind = "OperatorGroup"
	Namespace     Kind = "Namespace" // for the labels of OperatorGroups
)

// Key identifies an object to reconcile.
type Key struct {
	Kind            Kind
	Namespace, Name string
}

// Fields returns the fields that identify the object in log lines.
func (k Key) Fields() map[string]any {
	switch k.Kind {
	case CSV:
		return map[string]any{"csv": k.Name, "namespace": k.Namespace}
	case OperatorGroup:
		return map[string]any{"operatorgroup": k.Name, "namespace": k.Namespace}
	default:
		return map[string]any{"namespace": k.Name}
	}
}

// CSVKey returns the key of a ClusterServiceVersion.
func CSVKey(namespace, name string) Key { return Key{CSV, namespace, name} }

// GroupKey returns the key of an OperatorGroup.
func GroupKey(namespace, name string) Key { return Key{OperatorGroup, namespace, name} }

// NamespaceKey returns the key of a Namespace.
func NamespaceKey(name string) Key { return Key{Kind: Namespace, Name: name} }
