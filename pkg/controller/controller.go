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
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// Options are the administrator's choices.
type Options struct {
	// Namespaces are those whose ClusterServiceVersions the manager looks after; none
	// means all.
	Namespaces []string
	// Rollout says when a webhook may be registered, and how long things may take.
	Rollout rollout.Policy
	// SetCertificates says how long a serving certificate lives.
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
	served  discovery.APIServer
	queue   queue.Queue
	events  record.EventRecorder
	log     *logrus.Entry
	metrics *metrics.Metrics
	now     func() time.Time

	writes         *informers.Expectations
	repairs        *records.Repairs
	creationTimes  *records.CreationTimes // of registrations
	scopes         *records.Scopes
	rotationSlots  *records.RotationSlots
	unlabelled     *records.LabelRefusals
	contested      *records.FieldContests
	claims         *claims           // which ClusterServiceVersion provides which API, and where
	namespaceLocks keymutex.KeyMutex // held while one of several versions of an operator is reconciled
	processors     processors

	versions  *versions
	handlers  *eventHandlers
	gather    *gatherer
	writer    *writer
	prober    *prober
	executor  *executor
	reporter  *reporter
	groups    *groupReconciler
	uninstall *uninstaller
}

// namespaceLocks is the number of locks that all namespaces share.
const namespaceLocks = 1024

// New connects the informers with the queue. Run starts them.
func New(set clients.Set, events record.EventRecorder, measured *metrics.Metrics, log *logrus.Entry, options Options) (*Controller, error) {
	c := newController(options)
	c.Set, c.events, c.log, c.metrics = set, events, log, measured
	c.caches = informers.NewCaches(set, options.Namespaces)
	c.served = discovery.NewAPIServer(set.Kube.Discovery(), log, c.queue.Add)
	// The handlers of caches that are filled on demand are called only after the caches are requested.
	c.foreign = informers.NewOnDemand(set.Dynamic, options.Namespaces, c.now, func(before, after drift.Object) { c.handlers.foreignChanged(before, after) })
	c.wire()
	measured.RegisterStatus(c.versions.managedRollouts)
	return c, c.handlers.watch()
}

// newController returns a controller without caches and clients.
func newController(options Options) *Controller {
	return &Controller{
		Options: options,
		queue:   queue.New(options.Clock),
		now:     time.Now,

		writes:         &informers.Expectations{Grace: cmp.Or(options.CacheGrace, time.Second)},
		repairs:        &records.Repairs{},
		creationTimes:  &records.CreationTimes{},
		scopes:         &records.Scopes{},
		rotationSlots:  &records.RotationSlots{},
		unlabelled:     &records.LabelRefusals{},
		contested:      &records.FieldContests{},
		claims:         &claims{},
		namespaceLocks: keymutex.NewHashed(namespaceLocks),
		processors:     newProcessors(),
	}
}

// wire gives each part what it needs.
func (c *Controller) wire() {
	c.versions = &versions{
		Namespaces: c.Namespaces, caches: c.caches, claims: c.claims, queue: c.queue, scopes: c.scopes,
	}
	c.gather = &gatherer{
		Set: c.Set, Certificates: c.Certificates, Rollout: c.Rollout, caches: c.caches, creationTimes: c.creationTimes, foreign: c.foreign, now: c.now, repairs: c.repairs, served: c.served, unlabelled: c.unlabelled, versions: c.versions,
	}
	c.handlers = &eventHandlers{
		caches: c.caches, queue: c.queue, scopes: c.scopes, served: c.served, writes: c.writes, versions: c.versions,
	}
	c.writer = &writer{Set: c.Set, log: c.log, now: c.now}
	c.uninstall = &uninstaller{
		Set: c.Set, LiftRoles: c.LiftRoles, Namespaces: c.Namespaces, events: c.events, log: c.log, writer: c.writer,
	}
	c.prober = &prober{
		Set: c.Set, Dial: c.Dial, Probe: c.Probe, log: c.log, metrics: c.metrics, now: c.now, writer: c.writer,
	}
	c.groups = &groupReconciler{
		Set: c.Set, Namespaces: c.Namespaces, caches: c.caches, contested: c.contested, events: c.events, now: c.now, queue: c.queue, unlabelled: c.unlabelled, writes: c.writes, handlers: c.handlers, versions: c.versions,
	}
	c.reporter = &reporter{
		Set: c.Set, contested: c.contested, Rollout: c.Rollout, events: c.events, log: c.log, metrics: c.metrics, now: c.now, queue: c.queue, writes: c.writes,
	}
	c.executor = &executor{
		Set: c.Set, Certificates: c.Certificates, caches: c.caches, creationTimes: c.creationTimes, foreign: c.foreign, log: c.log, metrics: c.metrics, now: c.now, processors: c.processors, repairs: c.repairs, rotationSlots: c.rotationSlots, writes: c.writes, prober: c.prober, writer: c.writer,
	}
}

// Fill starts the caches and waits until they are filled. They stay current until
// the context ends: a standby fills them too, so that it can take over at once.
func (c *Controller) Fill(ctx context.Context) error {
	var err error
	if c.gather.self, err = whoAmI(ctx, c.Kube); err != nil {
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
	if c.gather.hasOperatorConditions() { // every ClusterServiceVersion has one
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
