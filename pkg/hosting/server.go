package hosting

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apiserver/pkg/server"
	"k8s.io/klog/v2"
)

// webhookServer serves webhooks from the first handshake to the last call.
type webhookServer struct {
	options     *options
	clients     clients
	metrics     *metrics
	certificate *certificate
	endpoints   []*endpoint
	load        *load
	trust       *trustKeeper // nil if the webhooks are registered by another program
	drain       drain
}

func newWebhookServer(b *Builder, names []string, p *process) *webhookServer {
	files := p.options.serving.ServerCert.CertKey
	s := &webhookServer{
		options:     p.options,
		clients:     p.clients,
		metrics:     p.metrics,
		certificate: &certificate{certFile: files.CertFile, keyFile: files.KeyFile},
	}
	p.metrics.watchExpiry(s.certificate)
	calls := &load{maxRequests: int64(p.options.maxRequests), maxBodyMemory: p.options.maxBodyMemory.Value()}
	s.load = calls
	p.metrics.watchLoad(calls)
	for _, name := range names {
		s.endpoints = append(s.endpoints, newEndpoint(name, b.webhooks[name], p.metrics, calls))
	}
	if p.options.registration.enabled {
		s.trust = newTrustKeeper(s)
	}
	return s
}

// run serves until ctx ends, and then until the last call is answered.
func (s *webhookServer) run(ctx context.Context) error {
	if err := s.options.registration.makeCertificate(s.certificate); err != nil {
		return err
	}
	stop := make(chan struct{})
	stopped, err := s.serve(stop)
	if err != nil {
		return err
	}

	// What handlers use outlives ctx: calls are answered until the end of the drain.
	calls, endCalls := context.WithCancel(context.WithoutCancel(ctx))
	defer endCalls()
	starting, ctx := errgroup.WithContext(ctx)
	for _, e := range s.endpoints {
		starting.Go(func() error { return s.prepare(ctx, calls, e) })
	}
	if s.trust != nil {
		starting.Go(func() error {
			s.trust.run(ctx)
			return nil
		})
		starting.Go(func() error {
			s.register(ctx)
			return nil
		})
	}

	<-ctx.Done()
	s.drain.begin()
	klog.Infof("Draining: serving for another %s and until nobody calls, then waiting for calls under way, at most %s", s.options.drainPeriod, s.options.drainTimeout)
	s.drain.wait(s.options.drainPeriod)
	close(stop)
	<-stopped
	return starting.Wait()
}

// serve starts the listener and returns what is closed when, after stop is closed, all
// calls have been answered.
func (s *webhookServer) serve(stop <-chan struct{}) (stopped <-chan struct{}, err error) {
	// The certificate is not loaded by ApplyTo, which wants it to be there already.
	serving := *s.options.serving
	serving.ServerCert.CertKey.CertFile, serving.ServerCert.CertKey.KeyFile = "", ""
	var info *server.SecureServingInfo
	if err := serving.ApplyTo(&info); err != nil {
		return nil, err
	}
	info.Cert = s.certificate
	handler, err := s.options.callers.guard(s.mux(), info, s.load)
	if err != nil {
		return nil, err
	}
	return serveTLS(info, limitedTime(s.drain.handler(handler)), s.options.drainTimeout, stop)
}

func (s *webhookServer) mux() http.Handler {
	mux := http.NewServeMux()
	for _, e := range s.endpoints {
		mux.Handle(e.webhook.Path, e)
	}
	handleOwnPaths(mux, s.metrics, s.checks())
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		writeFailure(w, r, notFound(r.URL.Path, s.endpoints))
	})
	return mux
}

// checks are what /readyz waits for.
func (s *webhookServer) checks() []check {
	checks := []check{
		{"shutdown", s.drain.check},
		{"certificate", func() error { return s.certificate.servable(time.Now()) }},
	}
	if s.trust != nil {
		// Only registrations that exist count: the first one waits until the process is ready.
		checks = append(checks, check{"registrations", s.trust.check})
	}
	for _, e := range s.endpoints {
		checks = append(checks, check{"webhook-" + e.name, e.prepared})
	}
	return checks
}

// prepare makes a webhook ready. It does not wait for a Prepare that is stuck when the
// process is to end.
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

// prepared is for /readyz.
func (e *endpoint) prepared() error {
	if !e.ready.Load() {
		return errors.New("it is being prepared")
	}
	return nil
}
