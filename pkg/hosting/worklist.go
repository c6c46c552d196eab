package hosting

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
)

// Worklist has a controller look at objects by their names, at one after the other, and
// at each again until that succeeds.
type Worklist struct {
	doing string
	look  func(ctx context.Context, name cache.ObjectName) error
	queue workqueue.TypedRateLimitingInterface[cache.ObjectName]
}

// NewWorklist returns a list for the function. What it does, in words like "labelling
// PersistentVolume", is for the log.
func NewWorklist(doing string, look func(ctx context.Context, name cache.ObjectName) error) *Worklist {
	return &Worklist{
		doing: doing,
		look:  look,
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[cache.ObjectName]()),
	}
}

// Add has an object looked at soon; one that is waiting already waits but once.
func (w *Worklist) Add(name cache.ObjectName) {
	w.queue.Add(name)
}

// Run looks at objects until ctx ends.
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

// handle is silent about what happens every day: an object that is gone meanwhile, and
// one that somebody else has just written.
func (w *Worklist) handle(ctx context.Context, name cache.ObjectName) {
	switch err := w.look(ctx, name); {
	case err == nil, apierrors.IsNotFound(err):
		w.queue.Forget(name)
	case apierrors.IsConflict(err):
		w.queue.AddRateLimited(name)
	default:
		if ctx.Err() == nil {
			klog.Errorf("%s %s, and trying again: %v", w.doing, name, err)
		}
		w.queue.AddRateLimited(name)
	}
}
