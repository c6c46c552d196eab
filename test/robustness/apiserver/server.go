package apiserver

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/robustness/etcd"
)

// Cluster is an etcd with API servers. Set the fields before the first request.
type Cluster struct {
	// Authorizer is asked for users outside the group system:masters; nil allows everything.
	Authorizer authorizer.Authorizer
	// Fault decides what goes wrong with a request; nil means nothing. It is called concurrently.
	Fault func(Request) Fault
	// Dial connects API servers with webhooks; an address is NAME.NAMESPACE.svc:PORT. Nil means that there is no network.
	Dial func(ctx context.Context, address string) (net.Conn, error)
	// Recorder observes reads and writes; nil means none.
	Recorder Recorder

	Store   *etcd.Store
	ctx     context.Context //nolint:containedctx // the life of the cluster
	size    int
	servers []*Server
	running sync.WaitGroup
}

// New returns a cluster with n API servers on a store, which run until the context ends. Wait returns after they have ended.
func New(ctx context.Context, n int, store *etcd.Store) (*Cluster, error) {
	c := &Cluster{Store: store, ctx: ctx, size: n}
	c.Store.OnWrite = c.recordWrite
	for i := range n {
		s, err := newServer(c, fmt.Sprint("apiserver-", i))
		if err != nil {
			return nil, err
		}
		c.servers = append(c.servers, s)
	}
	for _, s := range c.servers {
		c.running.Go(s.run)
	}
	return c, nil
}

// Server returns an API server.
func (c *Cluster) Server(i int) *Server { return c.servers[i] }

// Servers returns all API servers.
func (c *Cluster) Servers() []*Server { return c.servers }

// Last returns the API server with the highest number.
func (c *Cluster) Last() *Server { return c.servers[len(c.servers)-1] }

// Ready returns when all API servers know which custom resources they serve and which webhooks are registered, as kube-apiserver's readyz.
func (c *Cluster) Ready(ctx context.Context) error {
	return wait.PollUntilContextCancel(ctx, 10*time.Millisecond, true, func(context.Context) (bool, error) {
		return !slices.ContainsFunc(c.servers, func(s *Server) bool { return !s.definitions.synced() || !s.webhooks.synced() }), nil
	})
}

// Wait returns when every goroutine of the API servers has ended, after the end of the context.
func (c *Cluster) Wait() { c.running.Wait() }

// Server is one API server.
type Server struct {
	Name string

	cluster     *Cluster
	ctx         context.Context //nolint:containedctx // the life of the cluster, with this API server in it
	etcd        *etcd.Client
	definitions *definitions
	webhooks    *webhooks
	watches     watches
	storages    storageSet
}

func newServer(c *Cluster, name string) (*Server, error) {
	s := &Server{Name: name, cluster: c, etcd: c.Store.NewClient(c.ctx)}
	s.ctx = withServer(c.ctx, s)
	s.storages.server = s
	var err error
	if s.definitions, err = newDefinitions(s); err != nil {
		return nil, err
	}
	s.webhooks, err = newWebhooks(s)
	return s, err
}

// View is the connection to etcd. A test holds it, makes it late or cuts it: caches and watches of this API server alone show it.
func (s *Server) View() *etcd.Client { return s.etcd }

// CutWatches ends all watches of clients at this API server.
func (s *Server) CutWatches() { s.watches.cut() }

// run serves custom resources and calls webhooks until the end of the context.
func (s *Server) run() {
	s.cluster.running.Go(func() { s.webhooks.run(s.ctx) })
	s.definitions.run()
	s.storages.stop()
}
