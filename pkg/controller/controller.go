// Package controller reconciles: it gathers facts, decides in pure packages, executes plans and reports.
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

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/clients"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/decide"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/discovery"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/execute"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/gather"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/groups"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/live"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/metrics"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/originals"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/prober"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/queue"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/reachability"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/records"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/reporter"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/uninstall"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/versions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/watch"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/write"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/subscriptions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// Options are the administrator's choices.
type Options struct {
	// Namespaces are those whose ClusterServiceVersions the manager reconciles; none means all.
	Namespaces   []string
	Rollout      rollout.Policy
	Certificates certs.Policy
	// Probe is how endpoints are probed; empty is ProbeDial.
	Probe prober.Mode
	// Dial reaches endpoints; nil is the network as it is.
	Dial func(ctx context.Context, address string) (net.Conn, error)
	// APIServers finds the API servers; nil reads them from the cluster.
	APIServers func(context.Context) prober.Servers
	// APIServerMetricsInterval is how often the metrics of API servers are read while a webhook is registered; 0 for never.
	APIServerMetricsInterval time.Duration
	// Clock is the clock of the queue; nil is the real one.
	Clock clock.WithTicker
	// LiftRoles grants in the namespaces of an OperatorGroup what installers granted in that of the operator.
	LiftRoles bool
	// WithOLM does what olm-operator does when it installs an operator, and what the manager alone does not.
	WithOLM bool
	// Proxy is for the pods of operators, in a cluster that has no Proxy object.
	Proxy   subscriptions.Proxy
	Workers int
	// CacheGrace is how long a reconciliation waits for the caches to show earlier writes; zero means a second.
	CacheGrace time.Duration
}

// Controller is the whole manager: one queue, and one reconciliation per key at a time.
type Controller struct {
	Options
	clients.Set
	caches   *informers.Caches
	onDemand *informers.OnDemand // objects of certificate issuers, and OperatorConditions
	adopted  *informers.AdoptedPods
	budgets  *informers.OtherBudgets
	writes   *informers.Expectations
	served   discovery.APIServer
	queue    queue.Queue
	events   record.EventRecorder
	log      *logrus.Entry
	metrics  *metrics.Metrics
	now      func() time.Time
	records  *records.Records

	slow  *queue.SlowKeys
	locks *queue.Locks // held while one of several versions of an operator is reconciled

	versions   *versions.Index
	handlers   *watch.Handlers
	gather     *gather.Gatherer
	live       *live.Reader
	prober     *prober.Prober
	executor   *execute.Executor
	reporter   *reporter.Reporter
	groups     *groups.Reconciler
	originals  *originals.Revealer
	calls      *reachability.Watcher
	beginnings *prober.Beginnings
	uninstall  *uninstall.Uninstaller
}

// New connects the informers with the queue. Run starts them.
func New(set clients.Set, events record.EventRecorder, measured *metrics.Metrics, log *logrus.Entry, options Options) (*Controller, error) {
	c := newController(options)
	c.Set, c.events, c.log, c.metrics = set, events, log, measured
	c.caches = informers.NewCaches(set, options.Namespaces)
	if options.WithOLM {
		c.caches.WatchPlans()
	}
	c.served = discovery.NewAPIServer(set.Kube.Discovery(), log, c.queue.Add)
	// The handlers of caches that are filled on demand are called only after the caches are requested.
	c.onDemand = informers.NewOnDemand(set.Dynamic, options.Namespaces, c.now, func(before, after drift.Object) { c.handlers.OnDemandChanged(before, after) })
	c.budgets = informers.NewOtherBudgets(set.Kube, func(before, after drift.Object) { c.handlers.OtherBudgetChanged(before, after) })
	c.adopted = informers.NewAdoptedPods(set.Kube, func(before, after drift.Object) { c.handlers.AdoptedPodChanged(before, after) })
	c.wire()
	measured.RegisterStatus(c.versions.ManagedRollouts)
	measured.RegisterCalls(c.calls.Last)
	return c, c.handlers.Register()
}

func newController(options Options) *Controller {
	c := &Controller{
		Options: options,
		queue:   queue.New(options.Clock),
		now:     time.Now,
		records: &records.Records{},
		writes:  &informers.Expectations{Grace: cmp.Or(options.CacheGrace, time.Second)},
	}
	c.slow = queue.NewSlowKeys(c.Workers, c.now, func(k queue.Key) { c.queue.AddWithPriority(k, queue.Regular) })
	c.locks = queue.NewLocks(func(k queue.Key) { c.queue.AddWithPriority(k, queue.Urgent) }) // it may be a repair
	return c
}

func (c *Controller) wire() {
	c.versions = &versions.Index{Namespaces: c.Namespaces, Caches: c.caches, Queue: c.queue, Scopes: &c.records.Scopes}
	c.handlers = &watch.Handlers{
		Caches: c.caches, Queue: c.queue, Scopes: &c.records.Scopes, Served: c.served, Writes: c.writes, Versions: c.versions,
		SubscriptionReads: &c.records.SubscriptionReads, Now: c.now,
	}
	c.wireReconcilers()
	c.wireExecutor()
}

func (c *Controller) wireReconcilers() {
	status := &write.Status{FieldContests: &c.records.FieldContests, Events: c.events, Writes: c.writes, Now: c.now}
	c.live = &live.Reader{Set: c.Set, Log: c.log}
	c.groups = &groups.Reconciler{
		Set: c.Set, Status: status, Namespaces: c.Namespaces, Caches: c.caches, Queue: c.queue,
		LabelRefusals: &c.records.LabelRefusals, Handlers: c.handlers, Versions: c.versions,
	}
	c.originals = &originals.Revealer{
		Set: c.Set, Caches: c.caches, Versions: c.versions, FieldContests: &c.records.FieldContests, Events: c.events, Log: c.log, Now: c.now,
	}
	c.uninstall = &uninstall.Uninstaller{
		Set: c.Set, LiftRoles: c.LiftRoles, Namespaces: c.Namespaces, Events: c.events, Log: c.log,
		Live: c.live, Writer: &write.Writer{Set: c.Set, Now: c.now},
	}
	c.reporter = &reporter.Reporter{Set: c.Set, Status: status, Rollout: c.Rollout, Log: c.log, Metrics: c.metrics}
}

func (c *Controller) wireExecutor() {
	c.gather = &gather.Gatherer{
		Set: c.Set, Records: c.records, Caches: c.caches, OnDemand: c.onDemand, AdoptedPods: c.adopted, OtherBudgets: c.budgets, Served: c.served, Versions: c.versions,
		Settings: decide.Settings{Rollout: c.Rollout, Certificates: c.Certificates, LiftRoles: c.LiftRoles, WithOLM: c.WithOLM}, Proxy: c.Proxy,
	}
	c.prober = &prober.Prober{
		Set: c.Set, Dial: c.Dial, Mode: c.Probe, Log: c.log, Metrics: c.metrics, Now: c.now, Live: c.live, FieldContests: &c.records.FieldContests, Markers: &c.records.Markers,
		APIServers: c.APIServers,
	}
	if c.prober.APIServers == nil {
		c.prober.APIServers = c.prober.FindServers
	}
	c.beginnings = prober.NewBeginnings(c.prober, &c.records.Beginnings, c.installed, c.queue.Add)
	c.calls = &reachability.Watcher{
		Set: c.Set, Interval: c.APIServerMetricsInterval, APIServers: c.prober.APIServers, Rollouts: c.versions.ManagedRollouts,
		Record: &c.records.Calls, Changed: c.queue.Add, Now: c.now, Log: c.log,
	}
	c.executor = &execute.Executor{
		Set: c.Set, Records: c.records, Rotations: c.Certificates.Parallel,
		Caches: c.caches, OnDemand: c.onDemand, Writes: c.writes, Events: c.events, Log: c.log, Metrics: c.metrics,
		Now: c.now, Processors: execute.NewProcessors(), Live: c.live, Writer: c.uninstall.Writer,
		Prober: c.prober, Exists: c.versions.Exists,
	}
}

// Fill starts the caches and waits until they are filled. A standby fills them, too, so that it can lead at once.
func (c *Controller) Fill(ctx context.Context) error {
	var err error
	if c.gather.Settings.Manager, err = live.UserName(ctx, c.Kube); err != nil {
		return err
	}
	if err := c.caches.Aggregation.Discover(ctx, c.Kube.Discovery().RESTClient()); err != nil {
		return err
	}
	c.caches.Start(ctx)
	c.onDemand.Start(ctx.Done())
	c.adopted.Start(ctx.Done())
	c.budgets.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), c.caches.Synced) {
		return errors.New("stopped before the caches were filled")
	}
	if c.gather.HasOperatorConditions() { // every ClusterServiceVersion has one
		conditions, _ := c.onDemand.Watch(owners.OperatorConditions.Resource)
		cache.WaitForCacheSync(ctx.Done(), conditions.Synced)
	}
	if c.gather.HasClusterProxy() { // without it, the pods of all operators would lose its variables
		proxies, _ := c.onDemand.Watch(subscriptions.ProxyResource)
		cache.WaitForCacheSync(ctx.Done(), proxies.Synced)
	}
	return nil
}

// Run reconciles until the context ends, and then completes the reconciliations in progress. It discards the other
// requests: until Run returns, no other process leads.
func (c *Controller) Run(ctx context.Context) {
	c.log.WithField("workers", c.Workers).Info("working")
	c.metrics.SetLeader(true)
	defer c.metrics.SetLeader(false)
	c.calls.Start()
	var workers wait.Group
	workers.StartWithContext(ctx, c.calls.Run)
	workers.StartWithContext(ctx, c.beginnings.Run)
	for range c.Workers {
		workers.Start(func() { c.work(ctx) })
	}
	<-ctx.Done()
	c.queue.ShutDown()
	workers.Wait()
}

// Caches returns the caches, which Fill fills.
func (c *Controller) Caches() *informers.Caches { return c.caches }

// Versions returns the index of the ClusterServiceVersions in the caches.
func (c *Controller) Versions() *versions.Index { return c.versions }

// Synced reports whether the caches are filled.
func (c *Controller) Synced() bool { return c.caches.Synced() }

func (c *Controller) work(ctx context.Context) {
	for {
		k, stop := c.queue.Get()
		if stop || ctx.Err() != nil {
			return
		}
		c.reconcile(context.WithoutCancel(ctx), k) // completed although the context ends
		c.queue.Done(k)
	}
}
