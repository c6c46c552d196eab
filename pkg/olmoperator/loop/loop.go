// Package loop calls a function for each object that changed, and repeats the calls that fail.
package loop

import (
	"context"
	"time"

	"github.com/sirupsen/logrus"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// Loop is a queue of objects, and the function that reconciles one of them. One object is reconciled at most once at a
// time.
type Loop struct {
	queue     workqueue.TypedRateLimitingInterface[cache.ObjectName]
	reconcile func(context.Context, cache.ObjectName) error
	log       *logrus.Entry
}

// New returns a loop with an empty queue. A call of reconcile that fails is repeated after a second at first, and after
// five minutes at most.
func New(reconcile func(context.Context, cache.ObjectName) error, log *logrus.Entry) *Loop {
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[cache.ObjectName](time.Second, 5*time.Minute)
	return &Loop{queue: workqueue.NewTypedRateLimitingQueue(limiter), reconcile: reconcile, log: log}
}

// Add requests a reconciliation of an object. Before Run, the queue collects requests.
func (l *Loop) Add(object cache.ObjectName) { l.queue.Add(object) }

// AddAfter requests a reconciliation after a delay.
func (l *Loop) AddAfter(object cache.ObjectName, delay time.Duration) {
	l.queue.AddAfter(object, delay)
}

// Run reconciles until the context ends, and then completes the reconciliations in progress. It discards the other
// requests: until Run returns, no other process leads.
func (l *Loop) Run(ctx context.Context, workers int) {
	var running wait.Group
	for range workers {
		running.Start(func() { l.work(ctx) })
	}
	<-ctx.Done()
	l.queue.ShutDown()
	running.Wait()
}

func (l *Loop) work(ctx context.Context) {
	for {
		object, stop := l.queue.Get()
		if stop || ctx.Err() != nil {
			return
		}
		l.call(context.WithoutCancel(ctx), object)
		l.queue.Done(object)
	}
}

// call completes a reconciliation: its context outlives that of Run.
func (l *Loop) call(ctx context.Context, object cache.ObjectName) {
	if err := l.reconcile(ctx, object); err != nil {
		l.log.WithField("object", object.String()).WithError(err).Warn("the reconciliation failed and is repeated")
		l.queue.AddRateLimited(object)
		return
	}
	l.queue.Forget(object)
}
