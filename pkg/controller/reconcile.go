package controller

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/prober"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/queue"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/write"
)

// pass looks at one key once, and says when to look at it again.
func (c *Controller) pass(ctx context.Context, k queue.Key) {
	started := c.now()
	next, err := c.look(ctx, k)
	c.metrics.ObserveReconciliation(k.Kind, c.now().Sub(started), err)
	log := c.log.WithFields(k.Fields())
	switch {
	case err == nil:
		c.queue.Forget(k)
		if !next.IsZero() {
			c.queue.AddAfter(k, next.Sub(c.now()))
		}
	case errors.Is(err, informers.ErrStale):
		c.queue.Raise(k, queue.Regular)
		c.queue.AddAfter(k, c.writes.Grace)
	case apierrors.IsConflict(err) && !write.IsDenied(err):
		log.WithError(err).Debug("somebody else wrote first, looking again")
		c.queue.Raise(k, queue.Regular)
		c.queue.AddRateLimited(k)
	default:
		log.WithError(err).Error("pass failed, trying again")
		c.queue.Raise(k, queue.Regular)
		c.queue.AddRateLimited(k)
		if !next.IsZero() { // it went on after what failed
			c.queue.AddAfter(k, next.Sub(c.now()))
		}
	}
}

func (c *Controller) look(ctx context.Context, k queue.Key) (next time.Time, err error) {
	ctx, cancel := context.WithTimeout(ctx, prober.PassTimeout)
	defer cancel()
	// An object that breaks the code must not take the others down with it.
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("panic: %v\n%s", fault, debug.Stack())
		}
	}()
	switch k.Kind {
	case queue.CSV:
		return c.lookAtCSV(ctx, k)
	case queue.OperatorGroup:
		return time.Time{}, c.groups.ReconcileGroup(ctx, k)
	default:
		return time.Time{}, c.groups.ReconcileNamespace(ctx, k)
	}
}
