package loop

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/sirupsen/logrus/hooks/test"
	"k8s.io/client-go/tools/cache"
)

func TestFailedReconciliationIsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, _ := test.NewNullLogger()
		ctx, cancel := context.WithCancel(t.Context())
		calls := make(chan time.Time, 2)
		l := New(func(context.Context, cache.ObjectName) error {
			calls <- time.Now()
			if len(calls) == 1 {
				return errors.New("refused")
			}
			cancel()
			return nil
		}, logrus.NewEntry(log))
		l.Add(cache.NewObjectName("a", "b"))
		l.Run(ctx, 2)
		first, second := <-calls, <-calls
		if delay := second.Sub(first); delay != time.Second {
			t.Errorf("the reconciliation was repeated after %s, want 1 s", delay)
		}
	})
}

// A process that ends does not reconcile what is queued: the next leader does.
func TestQueueIsDiscardedAtTheEnd(t *testing.T) {
	log, _ := test.NewNullLogger()
	ctx, cancel := context.WithCancel(t.Context())
	calls := 0
	l := New(func(context.Context, cache.ObjectName) error {
		calls++
		cancel()
		return nil
	}, logrus.NewEntry(log))
	for _, name := range []string{"a", "b", "c", "d"} {
		l.Add(cache.NewObjectName("a", name))
	}
	l.Run(ctx, 1)
	if calls != 1 {
		t.Errorf("%d reconciliations, want 1", calls)
	}
}

func TestReconciliationInProgressIsCompleted(t *testing.T) {
	log, _ := test.NewNullLogger()
	ctx, cancel := context.WithCancel(t.Context())
	completed := errors.New("not called")
	l := New(func(ctx context.Context, _ cache.ObjectName) error {
		cancel()
		completed = ctx.Err()
		return nil
	}, logrus.NewEntry(log))
	l.Add(cache.NewObjectName("a", "b"))
	l.Run(ctx, 1)
	if completed != nil {
		t.Errorf("the reconciliation was interrupted: %v", completed)
	}
}
