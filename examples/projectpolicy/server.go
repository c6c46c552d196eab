package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"
)

const (
	// drainPeriod is how long the server still takes calls after it was told
	// to end. Every node and API server that learned its address has to
	// forget it first, and none of them says when it has.
	drainPeriod = 8 * time.Second

	// shutdownPeriod bounds the wait for calls under way: longer than the
	// webhook's timeoutSeconds, after which nobody waits for an answer.
	shutdownPeriod = 10 * time.Second
)

// server serves the webhook over TLS and ends without failing a call.
type server struct {
	http     *http.Server
	drain    time.Duration
	draining atomic.Bool
}

func newServer(address string, handler http.Handler, cert *certificate) *server {
	s := &server{drain: drainPeriod}
	s.http = &http.Server{
		Addr:              address,
		Handler:           s.closeWhileDraining(handler),
		TLSConfig:         &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: cert.Get},
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       15 * time.Second,
		WriteTimeout:      15 * time.Second,
		// Longer than the 90 s after which the API server drops an idle
		// connection: the side that closes first must be the one that calls.
		IdleTimeout: 2 * time.Minute,
		ErrorLog:    log.New(logrus.StandardLogger().WriterLevel(logrus.WarnLevel), "", 0),
	}
	return s
}

// Run serves until ctx is done, then drains: not ready any more, but serving,
// then no new connections, then the end once every call is answered.
func (s *server) Run(ctx context.Context) error {
	listener, err := net.Listen("tcp", s.http.Addr)
	if err != nil {
		return fmt.Errorf("listening for webhook calls: %w", err)
	}
	return s.serve(ctx, listener)
}

func (s *server) serve(ctx context.Context, listener net.Listener) error {
	failed := make(chan error, 1)
	go func() { failed <- s.http.ServeTLS(listener, "", "") }()
	logrus.WithField("address", listener.Addr().String()).Info("Serving the webhook")

	select {
	case err := <-failed:
		return fmt.Errorf("serving webhook calls: %w", err)
	case <-ctx.Done():
	}

	logrus.WithField("period", s.drain.String()).Info("Draining")
	s.draining.Store(true)
	select {
	case err := <-failed:
		return fmt.Errorf("serving webhook calls while draining: %w", err)
	case <-time.After(s.drain):
	}

	shutdown, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownPeriod)
	defer cancel()
	if err := s.http.Shutdown(shutdown); err != nil {
		return fmt.Errorf("waiting for the last webhook calls: %w", err)
	}
	logrus.Info("All webhook calls are answered")
	return nil
}

// Serving says that the server is about to end.
func (s *server) Serving() error {
	if s.draining.Load() {
		return errors.New("draining: this server is about to end")
	}
	return nil
}

// closeWhileDraining ends each connection with the next answer on it, so that
// the caller opens its next one to another replica. To close idle connections
// instead would fail the call that is just being written to one of them.
func (s *server) closeWhileDraining(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.draining.Load() {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}
