package hosting

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/klog/v2"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/connlimit"
)

// process is what runs of a Builder's controllers and webhooks, as the flags say.
type process struct {
	options     *options
	clients     clients
	controllers map[string]Controller
	server      *webhookServer // nil if no webhooks run
	metrics     *metrics
}

func newProcess(b *Builder, o *options) (*process, error) {
	p := &process{
		options:     o,
		clients:     clients{process: b.name, kubeconfig: o.kubeconfig},
		controllers: map[string]Controller{},
		metrics:     newMetrics(),
	}
	names, err := selectNames("controllers", o.controllers, b.controllerNames())
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		p.controllers[name] = b.controllers[name]
	}
	webhooks := o.webhooks
	if len(b.controllers) == 0 {
		webhooks = []string{"*"} // there is no flag then
	}
	names, err = selectNames("webhooks", webhooks, b.webhookNames())
	if err != nil {
		return nil, err
	}
	if !o.features.Enabled(CloudWebhookServer) && len(names) > 0 {
		klog.Warningf("Webhooks %s are not served: the feature gate %s is off", quoted(names), CloudWebhookServer)
		names = nil
	}
	if len(names) > 0 {
		p.server = newWebhookServer(b, names, p)
	}
	if len(p.controllers) == 0 && p.server == nil {
		return nil, errors.New("nothing runs: --controllers, --webhooks and --feature-gates leave neither a controller nor a webhook")
	}
	return p, nil
}

// run returns when everything has ended: because ctx did, or because one part failed,
// which ends the others.
func (p *process) run(ctx context.Context) error {
	stopHealth, err := p.serveHealth()
	if err != nil {
		return err
	}
	defer stopHealth()
	running, ctx := errgroup.WithContext(ctx)
	if p.server != nil {
		running.Go(func() error { return p.server.run(ctx) })
	}
	if len(p.controllers) > 0 {
		running.Go(func() error { return p.runControllers(ctx) })
	}
	return running.Wait()
}

func (p *process) runControllers(ctx context.Context) error {
	if !p.options.election.LeaderElect {
		return p.control(ctx)
	}
	env, err := p.clients.environment("leader-election")
	if err != nil {
		return err
	}
	return lead(ctx, env.Client, p.options.election, p.control)
}

// control runs the controllers until all have ended, or one fails.
func (p *process) control(ctx context.Context) error {
	running, ctx := errgroup.WithContext(ctx)
	for name, run := range p.controllers {
		env, err := p.clients.environment(name)
		if err != nil {
			return err
		}
		running.Go(func() error {
			klog.Infof("Controller %s starts", name)
			if err := run(ctx, env); err != nil && ctx.Err() == nil {
				return fmt.Errorf("controller %s: %w", name, err)
			}
			return nil
		})
	}
	return running.Wait()
}

// maxHealthConnections is more than the probes and scrapers of one process have. Beyond it, a
// new connection closes the one that has waited longest for a request.
const maxHealthConnections = 200

// newHealthServer bounds what a connection may hold, and for how long: any client that reaches
// the address may connect. It serves the listener that it returns.
func newHealthServer(listener net.Listener, handler http.Handler) (*http.Server, net.Listener) {
	connections := connlimit.New(listener, maxHealthConnections)
	return &http.Server{
		Handler:           connections.Handler(handler),
		ConnContext:       connlimit.ConnContext,
		MaxHeaderBytes:    8 << 10,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       30 * time.Second,
	}, connections
}

// serveHealth serves health and metrics over plain HTTP, for probes and scrapers, and
// where there is no webhook and so no certificate.
func (p *process) serveHealth() (stop func(), err error) {
	if p.options.healthAddress == "" {
		return func() {}, nil
	}
	var checks []check
	if p.server != nil {
		checks = p.server.checks()
	}
	mux := http.NewServeMux()
	handleOwnPaths(mux, p.metrics, checks)
	listener, err := net.Listen("tcp", p.options.healthAddress)
	if err != nil {
		return nil, fmt.Errorf("--health-bind-address: %w", err)
	}
	server, connections := newHealthServer(listener, mux)
	go func() {
		if err := server.Serve(connections); !errors.Is(err, http.ErrServerClosed) {
			klog.Errorf("Health is not served any more: %v", err)
		}
	}()
	return func() { server.Close() }, nil
}
