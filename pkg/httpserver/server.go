// Package httpserver serves health probes and metrics. Any pod may be a client, so connections and time are limited.
package httpserver

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	stdlog "log"
	"net"
	"net/http"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/connlimit"
)

type limits struct {
	headerBytes int           // size of the header of a request
	connections int           // connections that are open
	readTimeout time.Duration // from the first byte of a request to the end of its header; also for a TLS handshake
	writing     time.Duration // from the end of the header to the end of the response
	idle        time.Duration // between two requests of a connection
}

// defaultLimits have room for large tokens, and for a scraper. All connections together hold less than 5 MiB.
var defaultLimits = limits{headerBytes: 16 << 10, connections: 64, readTimeout: 5 * time.Second, writing: 30 * time.Second, idle: 90 * time.Second}

// Server is an HTTP server that listens.
type Server struct {
	server   *http.Server
	listener net.Listener
}

// Start serves handler at address until Close is called. It serves TLS if config is not nil.
func Start(address string, handler http.Handler, config *tls.Config, log *logrus.Entry) (*Server, error) {
	return start(address, handler, config, log, defaultLimits)
}

func start(address string, handler http.Handler, config *tls.Config, log *logrus.Entry, l limits) (*Server, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	connections := connlimit.New(listener, l.connections)
	s := &Server{listener: listener, server: &http.Server{
		Handler:           connections.Handler(withoutBody(handler)),
		TLSConfig:         config,
		MaxHeaderBytes:    l.headerBytes,
		ReadHeaderTimeout: l.readTimeout,
		ReadTimeout:       l.readTimeout,
		WriteTimeout:      l.writing,
		IdleTimeout:       l.idle,
		ConnContext:       connlimit.ConnContext,
		// What net/http logs of each connection that is misused could fill the manager's log.
		ErrorLog:  stdlog.New(io.Discard, "", 0),
		Protocols: new(http.Protocols),
	}}
	// A connection of HTTP/2 may have many requests at once, which the limits do not count.
	s.server.Protocols.SetHTTP1(true)
	go func() {
		if err := s.serve(connections); !errors.Is(err, http.ErrServerClosed) {
			log.WithError(err).WithField("address", address).Error("the server stopped")
		}
	}()
	return s, nil
}

func (s *Server) serve(l net.Listener) error {
	if s.server.TLSConfig != nil {
		return s.server.ServeTLS(l, "", "")
	}
	return s.server.Serve(l)
}

// Address returns the address at which the server listens.
func (s *Server) Address() string { return s.listener.Addr().String() }

// Close closes the listener and all connections.
func (s *Server) Close() { s.server.Close() }

// Otherwise net/http would wait for a body, to be able to read the next request.
func withoutBody(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength == 0 {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Connection", "close")
		_ = http.NewResponseController(w).SetReadDeadline(time.Unix(1, 0)) // If it fails, the read timeout applies.
		http.Error(w, fmt.Sprintf("%s takes no request body", r.URL.Path), http.StatusRequestEntityTooLarge)
	})
}
