package node

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/cluster/internal/api"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/cluster/internal/balance"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/cluster/internal/lag"
)

// apiServers are the API servers of the cluster. Several have a balancer in front of them, and links to etcd.
type apiServers struct {
	supervisor *supervisor
	servers    []*oneAPIServer
	balancer   balance.Balancer
	order      sync.Mutex // one order at a time
}

type oneAPIServer struct {
	number int
	name   string
	url    string
	client *api.Client
	link   *lag.Link // nil if it is the only one

	mutex sync.Mutex
	ready bool
}

func newAPIServers(s *supervisor) (*apiServers, error) {
	a := &apiServers{supervisor: s}
	for number := 1; number <= s.layout.APIServers; number++ {
		url := s.layout.APIServer(number)
		client, err := newClient(s.layout, url)
		if err != nil {
			return nil, err
		}
		a.servers = append(a.servers, &oneAPIServer{number: number, name: numbered("kube-apiserver", number), url: url, client: client})
	}
	return a, nil
}

func (a *apiServers) several() bool { return len(a.servers) > 1 }

// connect starts the balancer and the links to etcd, if there are several API servers.
func (a *apiServers) connect(ctx context.Context) error {
	if !a.several() {
		return nil
	}
	for _, s := range a.servers {
		listener, err := listen(ctx, etcdFor(a.supervisor.layout, s.number))
		if err != nil {
			return err
		}
		s.link = lag.New(etcdAddress)
		go func() { logf("the link of %s to etcd ended: %v", s.name, s.link.Serve(listener)) }()
	}
	listener, err := listen(ctx, net.JoinHostPort(IP, apiServerPort))
	if err != nil {
		return err
	}
	go a.balancer.Serve(listener)
	go a.checkReadiness(ctx)
	return nil
}

func listen(ctx context.Context, address string) (net.Listener, error) {
	var config net.ListenConfig
	return config.Listen(ctx, "tcp4", address)
}

// startFirst starts one API server. Others that start on an empty etcd would write the same objects.
func (a *apiServers) startFirst() error {
	return a.supervisor.start(apiServer(a.supervisor.layout, 1))
}

func (a *apiServers) startOthers() error {
	for _, s := range a.servers[1:] {
		if err := a.supervisor.start(apiServer(a.supervisor.layout, s.number)); err != nil {
			return err
		}
	}
	return nil
}

func (a *apiServers) waitForFirst(ctx context.Context) error {
	return a.waitFor(ctx, a.servers[:1])
}

func (a *apiServers) waitForOthers(ctx context.Context) error {
	return a.waitFor(ctx, a.servers[1:])
}

func (a *apiServers) waitFor(ctx context.Context, servers []*oneAPIServer) error {
	for _, s := range servers {
		if err := a.supervisor.poll(ctx, s.name, s.client.Ready); err != nil {
			return err
		}
	}
	return nil
}

// readinessEvery is half of the shortest period of a probe of Kubernetes.
const readinessEvery = 500 * time.Millisecond

// checkReadiness names to the balancer the API servers that are ready, until the context ends.
func (a *apiServers) checkReadiness(ctx context.Context) {
	ticker := time.NewTicker(readinessEvery)
	defer ticker.Stop()
	for {
		var checks sync.WaitGroup
		for _, s := range a.servers {
			checks.Go(func() { s.setReady(s.client.Ready(ctx) == nil) })
		}
		checks.Wait()
		a.balance()
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (a *apiServers) balance() {
	var ready []string
	for _, s := range a.servers {
		if s.isReady() {
			ready = append(ready, net.JoinHostPort(a.supervisor.layout.apiServerIP(s.number), apiServerPort))
		}
	}
	a.balancer.SetServers(ready)
}

func (s *oneAPIServer) setReady(ready bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.ready != ready {
		logf("%s is ready: %t", s.name, ready)
	}
	s.ready = ready
}

func (s *oneAPIServer) isReady() bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.ready
}

// stop ends an API server as a node does that ends a pod: it has time to answer what it was asked.
func (a *apiServers) stop(ctx context.Context, s *oneAPIServer) error {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	return a.supervisor.end(ctx, s.name)
}

// start returns when the API server is ready.
func (a *apiServers) start(ctx context.Context, s *oneAPIServer) error {
	if a.supervisor.runs(s.name) {
		return fmt.Errorf("%s runs already", s.name)
	}
	if err := a.supervisor.start(apiServer(a.supervisor.layout, s.number)); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	if err := api.Poll(ctx, s.client.Ready); err != nil {
		return fmt.Errorf("%s does not answer: %w", s.name, err)
	}
	return nil
}

func (a *apiServers) restart(ctx context.Context, s *oneAPIServer) error {
	if err := a.stop(ctx, s); err != nil {
		return err
	}
	return a.start(ctx, s)
}
