// Package copies keeps copies of ClusterServiceVersions in the namespaces that their OperatorGroups target, as OLM v0 does.
package copies

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/sirupsen/logrus"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/clients"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/records"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmoperator/loop"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
)

const (
	// workers limits the requests for copies at one time: there can be thousands, and webhooks need the API server, too.
	workers = 4
	// batch is how long changes of an original are collected. Each of its copies costs two writes.
	batch = time.Second
	// conditionDelay keeps the condition of OLMConfig from following each single copy.
	conditionDelay = 5 * time.Second
)

// Controller creates, updates and deletes copies.
type Controller struct {
	clients.Set
	caches    *informers.Caches
	protected []string // namespaces
	events    record.EventRecorder
	log       *logrus.Entry
	now       func() time.Time

	originals *loop.Loop // compares the copies of one ClusterServiceVersion
	copies    *loop.Loop // writes one copy
	config    *loop.Loop // reports in OLMConfig

	olmConfig *olmConfig
	contents  *contents
	states    states
	written   *written
	contests  records.FieldContests
	pending   pending
}

// New adds indexes and handlers to the caches, which must not have been started. Protected namespaces keep copies although
// OLMConfig disables them.
func New(set clients.Set, caches *informers.Caches, events record.EventRecorder, log *logrus.Entry, protected []string) (*Controller, error) {
	log = log.WithField("controller", "copies")
	c := &Controller{
		Set: set, caches: caches, protected: protected, events: events, log: log, now: time.Now,
		contents: &contents{client: set.OLM}, written: newWritten(),
	}
	c.originals = loop.New(c.reconcileOriginal, log)
	c.copies = loop.New(c.reconcileCopy, log)
	c.config = loop.New(c.reconcileConfig, log)
	c.olmConfig = newOLMConfig(set.OLM, caches, c.configChanged)
	return c, errors.Join(c.index(), c.watch())
}

// Fill fills the cache of OLMConfig. The other caches are shared, and filled before.
func (c *Controller) Fill(ctx context.Context) error { return c.olmConfig.fill(ctx) }

// Run reconciles until the context ends.
func (c *Controller) Run(ctx context.Context) {
	c.config.AddAfter(configName, conditionDelay)
	var running wait.Group
	running.StartWithContext(ctx, func(ctx context.Context) { c.originals.Run(ctx, 1) })
	running.StartWithContext(ctx, func(ctx context.Context) { c.copies.Run(ctx, workers) })
	running.StartWithContext(ctx, func(ctx context.Context) { c.config.Run(ctx, 1) })
	running.Wait()
}

const (
	// byName indexes originals and copies by their name, which is the same for both.
	byName = "name"
	// byExtent indexes the OperatorGroups of all namespaces under one value.
	byExtent   = "extent"
	everywhere = ""
)

func (c *Controller) index() error {
	name := cache.Indexers{byName: func(o any) ([]string, error) {
		named, err := cache.ObjectToName(o)
		return []string{named.Name}, err
	}}
	extent := cache.Indexers{byExtent: func(o any) ([]string, error) {
		if targets, err := scope.Targets(o.(*operatorsv1.OperatorGroup), nil); err == nil && slices.Contains(targets, everywhere) {
			return []string{everywhere}, nil
		}
		return nil, nil
	}}
	var errs []error
	for _, added := range []struct {
		informers []cache.SharedIndexInformer
		indexers  cache.Indexers
	}{
		{c.caches.CSVs.Informers, name}, {c.caches.Copies.Informers, name}, {c.caches.Groups.Informers, extent},
	} {
		for _, informer := range added.informers {
			errs = append(errs, informer.AddIndexers(added.indexers))
		}
	}
	return errors.Join(errs...)
}
