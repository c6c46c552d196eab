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
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	aggregator "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"
	"k8s.io/utils/clock"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/client/clientset"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmclient"
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

// Clients reach the API server.
type Clients struct {
	Kube       kubernetes.Interface
	OLM        clientset.Interface
	Extensions apiextensions.Interface
	Metadata   metadata.Interface
	Aggregator aggregator.Interface
	Dynamic    dynamic.Interface
}

// NewClients are the clients of one configuration.
func NewClients(config *rest.Config) (Clients, error) {
	// Built-in kinds travel in half the time in their binary form; others have none.
	binary := rest.CopyConfig(config)
	binary.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	binary.ContentType = runtime.ContentTypeProtobuf
	kube, err := kubernetes.NewForConfig(binary)
	if err != nil {
		return Clients{}, err
	}
	olm, err := olmclient.New(config)
	if err != nil {
		return Clients{}, err
	}
	extensions, err := apiextensions.NewForConfig(binary)
	if err != nil {
		return Clients{}, err
	}
	objects, err := metadata.NewForConfig(config)
	if err != nil {
		return Clients{}, err
	}
	apis, err := aggregator.NewForConfig(binary)
	if err != nil {
		return Clients{}, err
	}
	foreign, err := dynamic.NewForConfig(config)
	return Clients{Kube: kube, OLM: olm, Extensions: extensions, Metadata: objects, Aggregator: apis, Dynamic: foreign}, err
}

// Controller is the whole manager: one queue, one worker function, one pass per key.
type Controller struct {
	Options
	Clients
	caches  caches
	foreign *onDemand // what other issuers look after
	queue   queue
	events  record.EventRecorder
	log     *logrus.Entry
	metrics *Metrics
	now     func() time.Time
	self    string // the user name of the manager; empty where the API server does not tell

	writes   writes   // what caches have yet to show
	contests contests // repairs that another client undid
	births   births   // of registrations
	turns    turns    // of the versions of one operator
	scopes   scopes   // of groups that select by labels
	claims   claims   // who provides what, and where
	places   places   // for rotations that go on at once

	unlabelled labelRefusals // of Namespaces
	contested  fieldContests // fields of objects that are not the manager's
	served     served        // what the API server says of itself

	processors processors
}

// New wires the informers to the queue; Run starts them.
func New(clients Clients, events record.EventRecorder, metrics *Metrics, log *logrus.Entry, options Options) (*Controller, error) {
	c := &Controller{
		Options: options,
		Clients: clients,
		caches:  newCaches(clients, options.Namespaces),
		queue:   newQueue(options.Clock),
		events:  events,
		log:     log,
		metrics: metrics,
		now:     time.Now,
		writes:  writes{grace: cmp.Or(options.CacheGrace, time.Second)},

		processors: newProcessors(),
	}
	c.served = newServed(clients.Kube.Discovery(), log, c.queue.Add)
	metrics.registry.MustRegister(statusCollector{c.managedRollouts})
	c.foreign = newOnDemand(clients.Dynamic, options.Namespaces, c.now, c.foreignChanged)
	return c, c.watch()
}

// Fill starts the caches and waits until they are filled. They stay current until
// the context ends: a standby fills them too, so that it can take over at once.
func (c *Controller) Fill(ctx context.Context) error {
	var err error
	if c.self, err = whoAmI(ctx, c.Kube); err != nil {
		return err
	}
	if err := c.caches.aggregation.find(c.Kube.Discovery()); err != nil {
		return err
	}
	c.caches.start(ctx)
	c.foreign.live(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), c.caches.synced()...) {
		return errors.New("told to stop before the caches were filled")
	}
	if c.hasOperatorConditions() { // every ClusterServiceVersion has one
		conditions, _ := c.foreign.of(operatorConditions)
		cache.WaitForCacheSync(ctx.Done(), conditions.synced)
	}
	return nil
}

// Run works until the context ends, and then finishes the passes that are under way.
func (c *Controller) Run(ctx context.Context) {
	c.log.WithField("workers", c.Workers).Info("working")
	c.metrics.leader.Set(1)
	defer c.metrics.leader.Set(0)
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
	for _, synced := range c.caches.synced() {
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
