package hosting

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/certificates"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/httperror"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/limits"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/registration"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/serving"
)

type webhookServer struct {
	options     *options
	clients     clients
	metrics     *metrics
	certificate *certificates.Files
	endpoints   []*endpoint
	calls       *limits.Calls
	registrar   *registration.Registrar // nil if another program registers the webhooks
	trust       *registration.Trust     // the same
	drain       serving.Drain
}

func newWebhookServer(b *Builder, names []string, p *process) *webhookServer {
	s := &webhookServer{
		options:     p.options,
		clients:     p.clients,
		metrics:     p.metrics,
		certificate: &certificates.Files{CertFile: p.options.serving.CertFile, KeyFile: p.options.serving.KeyFile},
		calls:       &limits.Calls{MaxRequests: int64(p.options.maxRequests), MaxBodyMemory: p.options.maxBodyMemory.Value()},
	}
	p.metrics.watchExpiry(s.certificate)
	p.metrics.watchCalls(s.calls)
	for _, name := range names {
		s.endpoints = append(s.endpoints, newEndpoint(name, b.webhooks[name], p.metrics, s.calls))
	}
	if p.options.registration.Enabled {
		s.registrar = s.newRegistrar()
		s.trust = registration.NewTrust(s.registrar)
	}
	return s
}

func (s *webhookServer) newRegistrar() *registration.Registrar {
	r := &registration.Registrar{
		Process:     s.options.process,
		Options:     &s.options.registration,
		Certificate: s.certificate,
		Config:      func() (*rest.Config, error) { return s.clients.config("registration") },
	}
	for _, e := range s.endpoints {
		w := e.webhook
		r.Webhooks = append(r.Webhooks, registration.Webhook{
			Name: e.name, Path: w.Path, Form: w.Handler.form(), Kinds: w.Handler.kinds(w), Operations: w.Operations,
			Settings: w.settings(),
		})
	}
	return r
}

func (s *webhookServer) run(ctx context.Context) error {
	if err := s.options.registration.EnsureCertificate(s.certificate); err != nil {
		return err
	}
	_ = s.certificate.RunOnce(ctx) // /readyz reports the error
	serve, err := s.listen()
	if err != nil {
		return err
	}
	// What handlers use outlives ctx: calls are answered until the end of the drain.
	calls, endCalls := context.WithCancel(context.WithoutCancel(ctx))
	defer endCalls()
	listening, stop := context.WithCancel(calls)
	defer stop()
	running, ctx := errgroup.WithContext(ctx)
	running.Go(func() error { return serve(listening) })
	for _, e := range s.endpoints {
		running.Go(func() error { return s.prepare(ctx, calls, e) })
	}
	if s.registrar != nil {
		running.Go(func() error {
			s.trust.Run(ctx)
			return nil
		})
		running.Go(func() error {
			s.registrar.Run(ctx, s.ready)
			return nil
		})
	}
	<-ctx.Done()
	s.drain.Begin()
	klog.InfoS("Draining: serving until no calls come, then waiting for calls in progress", "period", s.options.drainPeriod, "timeout", s.options.drainTimeout)
	s.drain.Wait(s.options.drainPeriod)
	stop()
	return running.Wait()
}

// listen returns the function that serves the port until its context ends and all calls are answered.
func (s *webhookServer) listen() (serve func(ctx context.Context) error, err error) {
	handler := s.mux()
	guard, err := s.options.callers.NewGuard(handler, serving.ProbePaths, s.metrics.registry)
	if err != nil {
		return nil, err
	}
	server, err := s.options.serving.Listen()
	if err != nil {
		return nil, err
	}
	server.Certificate = s.certificate
	if guard != nil {
		// The guard may ask the API server, so the requests that wait for it are limited.
		handler = s.calls.LimitCallers(guard)
		server.ClientCA = guard.ClientCA()
	}
	return func(ctx context.Context) error {
		if guard != nil {
			guard.Run(ctx)
		}
		return server.Serve(ctx, limitTime(s.drain.Handler(handler)), s.options.drainTimeout)
	}, nil
}

func (s *webhookServer) mux() http.Handler {
	mux := http.NewServeMux()
	for _, e := range s.endpoints {
		mux.Handle(e.webhook.Path, e)
	}
	serving.HandleOwnPaths(mux, s.metrics.registry, s.checks())
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		httperror.Write(w, r, notFound(r.URL.Path, s.endpoints))
	})
	return mux
}

func (s *webhookServer) checks() []serving.Check {
	checks := []serving.Check{
		{Name: "shutdown", Err: s.drain.Check},
		{Name: "certificate", Err: func() error { return s.certificate.Check(time.Now()) }},
	}
	if s.trust != nil {
		// Only existing registrations count: the first one is written when the process is ready.
		checks = append(checks, serving.Check{Name: "registrations", Err: s.trust.Check})
	}
	for _, e := range s.endpoints {
		checks = append(checks, serving.Check{Name: "webhook-" + e.name, Err: e.prepared})
	}
	return checks
}

func (s *webhookServer) ready() error {
	var errs []error
	for _, c := range s.checks() {
		errs = append(errs, c.Err())
	}
	return errors.Join(errs...)
}

// prepare prepares a webhook. When the process ends, it does not wait for a Prepare that hangs.
func (s *webhookServer) prepare(ctx, calls context.Context, e *endpoint) error {
	if e.webhook.Prepare == nil {
		e.ready.Store(true)
		return nil
	}
	env, err := s.clients.environment(e.name)
	if err != nil {
		return err
	}
	result := make(chan error, 1)
	go func() { result <- e.webhook.Prepare(calls, env) }()
	select {
	case err := <-result:
		if err != nil {
			return fmt.Errorf("webhook %s cannot be prepared: %w", e.name, err)
		}
		e.ready.Store(true)
		return nil
	case <-ctx.Done():
		return nil
	}
}
