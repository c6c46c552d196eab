// Package operators labels the components of operators, and writes the Operators that refer to them
// (docs/adr/0059-operator-objects.md).
package operators

import (
	"context"
	"time"

	"github.com/sirupsen/logrus"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/record"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/clients"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/records"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmoperator/loop"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmoperator/problems"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmoperator/provided"
)

// Controller has a queue for each kind of objects that labels or Operators depend on.
type Controller struct {
	clients.Set
	caches   *informers.Caches
	own      *ownCaches
	kinds    kinds
	apis     provided.APIs
	contests *records.FieldContests
	now      func() time.Time
	log      *logrus.Entry

	subscriptions *loop.Loop
	versions      *loop.Loop // ClusterServiceVersions
	operators     *loop.Loop

	subscriptionProblems problems.Reporter
	versionProblems      problems.Reporter
}

// New connects the caches with the queues.
func New(set clients.Set, caches *informers.Caches, events record.EventRecorder, log *logrus.Entry) *Controller {
	own := newOwnCaches(set, caches)
	c := &Controller{
		Set: set, caches: caches, own: own, kinds: kindsOf(caches, own),
		apis: provided.APIs{Caches: caches}, contests: &records.FieldContests{}, now: time.Now, log: log,
		subscriptionProblems: problems.Reporter{Events: events, Reason: managerv1alpha1.EventComponentNotLabelled},
		versionProblems:      problems.Reporter{Events: events, Reason: managerv1alpha1.EventComponentNotLabelled},
	}
	c.subscriptions = loop.New(c.reconcileSubscription, log)
	c.versions = loop.New(c.reconcileVersion, log)
	c.operators = loop.New(c.reconcileOperator, log)
	c.register()
	return c
}

// Fill fills the caches that only this controller has. The shared ones must be filled before.
func (c *Controller) Fill(ctx context.Context) error { return c.own.fill(ctx, c.caches.CRDs) }

// Run reconciles until the context ends.
func (c *Controller) Run(ctx context.Context) {
	var running wait.Group
	for _, l := range []*loop.Loop{c.subscriptions, c.versions, c.operators} {
		running.StartWithContext(ctx, func(ctx context.Context) { l.Run(ctx, workers) })
	}
	running.Wait()
}

const workers = 2
