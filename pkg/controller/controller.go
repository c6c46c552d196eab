// Package controller carries out what the pure packages decide: it observes through
// caches, lets them decide, applies, and reports.
package controller

import (
	"cmp"
	"context"
	"errors"
	"net"
	"time"

	"github.com/sirupsen/logrus"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
	"k8s.io/utils/keymutex"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/clients"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/discovery"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/metrics"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/queue"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/records"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
)

// Options are the administrator's choices.
type Options struct {
	// Namespaces are those whose ClusterServiceVersions the manager looks after; none
	// means all.
	Namespaces []string
	// Rollout says when a webhook may be registered, and how long things may take.
	Rollout rollout.Policy
	// Certificates says how long a serving certificate lives.
	Certificates certs.Policy
	// Probe says who finds out whether endpoints serve; empty is ProbeDial.
	Probe ProbeMode
	// Dial reaches endpoints; nil is the network as it is.
	Dial func(ctx context.Context, address string) (net.Conn, error)
	// Clock says when what is due later is due; nil is the real one.
	Clock clock.WithTicker
	// LiftRoles grants in the whole cluster, or in the namespaces that a group targets, what
	// installers of bundles granted in the operator's own.
	LiftRoles bool
	// Workers is how many objects are looked at side by side.
	Workers int
	// CacheGrace is how long the caches may lag behind what a pass wrote before the next goes on
	// without them; none means a second.
	CacheGrace time.Duration
}

// Controller is the whole manager: one queue, one worker function, one pass per key.
type Controller struct {
	Options
	clients.Set
	caches  *informers.Caches
	foreign *informers.OnDemand // objects of certificate issuers, and OperatorConditions
	queue   queue.Queue
	events  record.EventRecorder
	log     *logrus.Entry
	metrics *metrics.Metrics
	now     func() time.Time
	self    string // the user name of the manager; empty when the API server does not report it

	writes         informers.Expectations
	repairs        records.Repairs
	creationTimes  records.CreationTimes // of registrations
	namespaceLocks keymutex.KeyMutex     // held while one of several versions of an operator is reconciled
	scopes         records.Scopes
	claims         claims // which ClusterServiceVersion provides which API, and where
	rotationSlots  records.RotationSlots

	unlabelled records.LabelRefusals
	contested  records.FieldContests
	served     discovery.APIServer

	processors processors
}

// namespaceLocks is the number of locks that all namespaces share.
const namespaceLocks = 1024

// New connects the informers with the queue. Run starts them.
func New(set clients.Set, events record.EventRecorder, measured *metrics.Metrics, log *logrus.Entry, options Options) (*Controller, error) {
	c := &Controller{
		Options: options,
		Set:     set,
		caches:  informers.NewCaches(set, options.Namespaces),
		queue:   queue.New(options.Clock),
		events:  events,
		log:     log,
		metrics: measured,
		now:     time.Now,
		writes:  informers.Expectations{Grace: cmp.Or(options.CacheGrace, time.Second)},

		namespaceLocks: keymutex.NewHashed(namespaceLocks),
		processors:     newProcessors(),
	}
	c.served = discovery.NewAPIServer(set.Kube.Discovery(), log, c.queue.Add)
	measured.RegisterStatus(c.managedRollouts)
	c.foreign = informers.NewOnDemand(set.Dynamic, options.Namespaces, c.now, c.foreignChanged)
	return c, c.watch()
}

// Fill starts the caches and waits until they are filled. They stay current until
// the context ends: a standby fills them too, so that it can take over at once.
func (c *Controller) Fill(ctx context.Context) error {
	var err error
	if c.self, err = whoAmI(ctx, c.Kube); err != nil {
		return err
	}
	if err := c.caches.Aggregation.Discover(c.Kube.Discovery()); err != nil {
		return err
	}
	c.caches.Start(ctx)
	c.foreign.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), c.caches.Synced()...) {
		return errors.New("told to stop before the caches were filled")
	}
	if c.hasOperatorConditions() { // every ClusterServiceVersion has one
		conditions, _ := c.foreign.Of(operatorConditions)
		cache.WaitForCacheSync(ctx.Done(), conditions.Synced)
	}
	return nil
}

// Run works until the context ends, and then finishes the passes that are under way.
func (c *Controller) Run(ctx context.Context) {
	c.log.WithField("workers", c.Workers).Info("working")
	c.metrics.SetLeader(true)
	defer c.metrics.SetLeader(false)
	var workers wait.Group
	for range c.Workers {
		// A pass that has begun is finished: the context of the passes outlives ctx.
		workers.Start(func() { c.work(context.WithoutCancel(ctx)) })
	}
	<-ctx.Done()
	c.queue.ShutDown()
	workers.Wait()
}

// Synced tells whether the caches are filled.
func (c *Controller) Synced() bool {
	for _, synced := range c.caches.Synced() {
		if !synced() {
			return false
		}
	}
	return true
}

func (c *Controller) work(ctx context.Context) {
	for {
		k, stop := c.queue.Get()
		if stop {
			return
		}
		c.pass(ctx, k)
		c.queue.Done(k)
	}
}
