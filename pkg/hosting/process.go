package hosting

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"

	"golang.org/x/sync/errgroup"
	"k8s.io/klog/v2"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/election"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/serving"
)

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
		webhooks = []string{"*"} // the flag does not exist then
	}
	names, err = selectNames("webhooks", webhooks, b.webhookNames())
	if err != nil {
		return nil, err
	}
	if !o.features.Enabled(CloudWebhookServer) && len(names) > 0 {
		klog.InfoS("Webhooks are not served: the feature gate is off", "webhooks", names, "featureGate", CloudWebhookServer)
		names = nil
	}
	if len(names) > 0 {
		p.server = newWebhookServer(b, names, p)
	}
	if len(p.controllers) == 0 && p.server == nil {
		return nil, errors.New("nothing runs: --controllers, --webhooks and --feature-gates select neither a controller nor a webhook")
	}
	return p, nil
}

// run returns when all parts have ended. They end when ctx ends or one of them fails.
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
		running.Go(func() error { return p.runElected(ctx) })
	}
	return running.Wait()
}

func (p *process) runElected(ctx context.Context) error {
	if !p.options.election.LeaderElect {
		return p.runControllers(ctx)
	}
	env, err := p.clients.environment("leader-election")
	if err != nil {
		return err
	}
	return election.Lead(ctx, env.Client, p.options.election, p.runControllers)
}

func (p *process) runControllers(ctx context.Context) error {
	running, ctx := errgroup.WithContext(ctx)
	for name, run := range p.controllers {
		env, err := p.clients.environment(name)
		if err != nil {
			return err
		}
		running.Go(func() error {
			klog.InfoS("Starting the controller", "controller", name)
			if err := run(ctx, env); err != nil && ctx.Err() == nil {
				return fmt.Errorf("controller %s: %w", name, err)
			}
			return nil
		})
	}
	return running.Wait()
}

// serveHealth uses plain HTTP: a process without webhooks has no certificate.
func (p *process) serveHealth() (stop func(), err error) {
	if p.options.healthAddress == "" {
		return func() {}, nil
	}
	var checks []serving.Check
	if p.server != nil {
		checks = p.server.checks()
	}
	mux := http.NewServeMux()
	serving.HandleOwnPaths(mux, p.metrics.registry, checks)
	listener, err := net.Listen("tcp", p.options.healthAddress)
	if err != nil {
		return nil, fmt.Errorf("--health-bind-address: %w", err)
	}
	server, connections := serving.NewHealthServer(listener, mux)
	go func() {
		if err := server.Serve(connections); !errors.Is(err, http.ErrServerClosed) {
			klog.ErrorS(err, "Health and metrics are no longer served")
		}
	}()
	return func() { server.Close() }, nil
}
