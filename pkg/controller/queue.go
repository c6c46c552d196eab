package controller

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// kind is what a key stands for.
type kind string

const (
	csvKind       kind = "ClusterServiceVersion"
	groupKind     kind = "OperatorGroup"
	namespaceKind kind = "Namespace" // its labels
)

// key is an item of the queue: something to look at.
type key struct {
	kind            kind
	namespace, name string
}

// errNotYet says that a pass waits for its own earlier writes, or for a deletion that the API server
// knows of, to come back through the caches. Their arrival wakes it up.
var errNotYet = errors.New("the caches do not show the last writes yet")

// passTimeout ends a pass that waits for an API server that does not answer.
const passTimeout = time.Minute

// pass looks at one key once, and says when to look at it again.
func (c *Controller) pass(ctx context.Context, k key) {
	started := c.now()
	next, err := c.look(ctx, k)
	c.metrics.observePass(k.kind, c.now().Sub(started), err)
	log := c.log.WithFields(k.fields())
	switch {
	case err == nil:
		c.queue.Forget(k)
		if !next.IsZero() {
			c.queue.AddAfter(k, next.Sub(c.now()))
		}
	case errors.Is(err, errNotYet):
		c.queue.lanes.ask(k, regular)
		c.queue.AddAfter(k, c.writes.grace)
	case apierrors.IsConflict(err):
		log.WithError(err).Debug("somebody else wrote first, looking again")
		c.queue.lanes.ask(k, regular)
		c.queue.AddRateLimited(k)
	default:
		log.WithError(err).Error("pass failed, trying again")
		c.queue.lanes.ask(k, regular)
		c.queue.AddRateLimited(k)
		if !next.IsZero() { // it went on after what failed
			c.queue.AddAfter(k, next.Sub(c.now()))
		}
	}
}

func (c *Controller) look(ctx context.Context, k key) (next time.Time, err error) {
	ctx, cancel := context.WithTimeout(ctx, passTimeout)
	defer cancel()
	// An object that breaks the code must not take the others down with it.
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("panic: %v\n%s", fault, debug.Stack())
		}
	}()
	switch k.kind {
	case csvKind:
		return c.lookAtCSV(ctx, k)
	case groupKind:
		return time.Time{}, c.lookAtGroup(ctx, k)
	default:
		return time.Time{}, c.lookAtNamespace(ctx, k)
	}
}

func (k key) fields() map[string]any {
	switch k.kind {
	case csvKind:
		return map[string]any{"csv": k.name, "namespace": k.namespace}
	case groupKind:
		return map[string]any{"operatorgroup": k.name, "namespace": k.namespace}
	default:
		return map[string]any{"namespace": k.name}
	}
}
