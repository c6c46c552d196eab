package controller

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/sirupsen/logrus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/prober"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/queue"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/write"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
)

func (c *Controller) reconcile(ctx context.Context, k queue.Key) {
	ended, ok := c.slow.Start(k)
	if !ok {
		return
	}
	started := c.now()
	requeue, err := c.reconcileKind(ctx, k)
	took := c.now().Sub(started)
	ended(took)
	c.metrics.ObserveReconciliation(k.Kind, took, err)
	log := c.log.WithFields(k.Fields())
	switch {
	case err == nil:
		c.queue.Forget(k)
		c.requeue(k, requeue)
	case errors.Is(err, errLocked): // an ErrStale, too, so that it counts as waiting; locks adds the key
	case errors.Is(err, informers.ErrStale):
		c.queue.Raise(k, queue.Regular)
		c.queue.AddAfter(k, c.writes.Grace)
	case apierrors.IsConflict(err) && !write.IsDenied(err):
		log.WithError(err).Debug("the object has changed since it was read, retrying")
		c.queue.Raise(k, queue.Regular)
		c.queue.AddRateLimited(k)
	default:
		log.WithError(err).Error("reconciliation failed, retrying")
		c.queue.Raise(k, queue.Regular)
		c.queue.AddRateLimited(k)
		c.requeue(k, requeue) // for what followed the failed write
	}
}

func (c *Controller) requeue(k queue.Key, requeue rollout.Requeue) {
	if requeue.Never() {
		return
	}
	after := requeue.At.Sub(c.now())
	c.log.WithFields(k.Fields()).WithFields(logrus.Fields{"after": after, "reason": requeue.Reason}).Debug("requeued")
	c.queue.AddAfter(k, after)
}

func (c *Controller) reconcileKind(ctx context.Context, k queue.Key) (requeue rollout.Requeue, err error) {
	ctx, cancel := context.WithTimeout(ctx, prober.ReconcileTimeout)
	defer cancel()
	// An object that makes the code panic must not stop the reconciliation of the others.
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("panic: %v\n%s", fault, debug.Stack())
		}
	}()
	switch k.Kind {
	case queue.CSV:
		return c.reconcileCSV(ctx, k)
	case queue.OperatorGroup:
		return c.groups.ReconcileGroup(ctx, k)
	default:
		return c.groups.ReconcileNamespace(ctx, k)
	}
}
