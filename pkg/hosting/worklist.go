package hosting

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
)

// Worklist is a queue of objects that a controller reconciles, one after the other, with retries.
type Worklist struct {
	action    string
	reconcile func(ctx context.Context, name cache.ObjectName) error
	queue     workqueue.TypedRateLimitingInterface[cache.ObjectName]
}

// NewWorklist returns a Worklist that calls reconcile. The action, such as "label PersistentVolume",
// appears in the log.
func NewWorklist(action string, reconcile func(ctx context.Context, name cache.ObjectName) error) *Worklist {
	return &Worklist{
		action:    action,
		reconcile: reconcile,
		queue:     workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[cache.ObjectName]()),
	}
}

// Add adds an object, unless it is already in the queue.
func (w *Worklist) Add(name cache.ObjectName) { w.queue.Add(name) }

// Run reconciles objects until ctx ends.
func (w *Worklist) Run(ctx context.Context) {
	defer context.AfterFunc(ctx, w.queue.ShutDown)()
	for {
		name, shutdown := w.queue.Get()
		if shutdown {
			return
		}
		w.handle(ctx, name)
		w.queue.Done(name)
	}
}

// handle does not log expected errors: a deleted object, and a conflict with another client.
func (w *Worklist) handle(ctx context.Context, name cache.ObjectName) {
	switch err := w.reconcile(ctx, name); {
	case err == nil, apierrors.IsNotFound(err):
		w.queue.Forget(name)
	case apierrors.IsConflict(err):
		w.queue.AddRateLimited(name)
	default:
		if ctx.Err() == nil {
			klog.ErrorS(err, "Cannot reconcile, retrying", "action", w.action, "object", name.String())
		}
		w.queue.AddRateLimited(name)
	}
}
