// Package serving serves webhooks over TLS, and health and metrics over plain HTTP. It limits what
// clients can make the process hold, and drains connections at the end.
package serving

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"time"

	"golang.org/x/net/http2"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/klog/v2"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/connlimit"
)

const (
	// MaxConnections is more than the API servers of a cluster, its probes and its scrapers open.
	MaxConnections = 250
	// maxHeaderBytes is enough for the tokens of large identity providers.
	maxHeaderBytes = 16 << 10
	// headerTime is how long a TLS handshake, and the header of a request, may take.
	headerTime = 10 * time.Second
	// idleTime is the time after which API servers close an idle connection themselves.
	idleTime = 90 * time.Second
	// frameBytes is the minimum of the protocol: HTTP/2 allocates the announced length of a frame.
	frameBytes = 16 << 10
	// streamBytes is the part of a body that HTTP/2 buffers until it is read, also before the caller is authenticated.
	// It is as much as limits.UncountedBytes, which every body may have.
	streamBytes       = 64 << 10
	defaultMaxStreams = 100
)

// Server serves webhooks over TLS.
type Server struct {
	Listener         net.Listener
	Certificate      dynamiccertificates.CertKeyContentProvider
	SNICertificates  []dynamiccertificates.SNICertKeyContentProvider
	ClientCA         dynamiccertificates.CAContentProvider // nil if callers are not asked for a certificate
	MinVersion       uint16
	CipherSuites     []uint16
	CurvePreferences []tls.CurveID
	DisableHTTP2     bool
	MaxStreams       int // of an HTTP/2 connection
}

// Serve serves until ctx ends, waits for calls in progress, at most for the timeout, and returns nil.
func (s *Server) Serve(ctx context.Context, handler http.Handler, shutdownTimeout time.Duration) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	connections := connlimit.New(s.Listener, MaxConnections)
	server := &http.Server{
		Handler:           connections.Handler(handler),
		ConnContext:       connlimit.ConnContext,
		TLSConfig:         s.tlsConfig(ctx),
		MaxHeaderBytes:    maxHeaderBytes,
		ReadHeaderTimeout: headerTime,
		IdleTimeout:       idleTime,
		ErrorLog:          log.New(connectionLog{}, "", 0),
	}
	if !s.DisableHTTP2 {
		if err := http2.ConfigureServer(server, s.http2()); err != nil {
			return err
		}
	}
	shutdown := make(chan struct{})
	context.AfterFunc(ctx, func() {
		defer close(shutdown)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
		defer cancel()
		if err := server.Shutdown(ctx); err != nil {
			klog.ErrorS(err, "Calls were still in progress when the drain timeout ended")
		}
	})
	err := server.Serve(tls.NewListener(connections, server.TLSConfig))
	if !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("webhooks are no longer served: %w", err)
	}
	<-shutdown
	return nil
}

func (s *Server) http2() *http2.Server {
	streams := defaultMaxStreams
	if s.MaxStreams > 0 {
		streams = s.MaxStreams
	}
	return &http2.Server{
		IdleTimeout:                  idleTime,
		MaxConcurrentStreams:         uint32(streams), // the flag is validated
		MaxReadFrameSize:             frameBytes,
		MaxUploadBufferPerStream:     streamBytes,
		MaxUploadBufferPerConnection: int32(streamBytes * streams), // the flag is validated
	}
}

// tlsConfig returns the configuration. Its certificates are replaced while it is in use.
func (s *Server) tlsConfig(ctx context.Context) *tls.Config {
	config := &tls.Config{
		MinVersion:       max(tls.VersionTLS12, s.MinVersion),
		NextProtos:       []string{"h2", "http/1.1"},
		CipherSuites:     s.CipherSuites,
		CurvePreferences: s.CurvePreferences,
	}
	if s.DisableHTTP2 {
		config.NextProtos = []string{"http/1.1"}
	}
	if s.ClientCA != nil {
		config.ClientAuth = tls.RequestClientCert // other callers may have a token
	}
	controller := dynamiccertificates.NewDynamicServingCertificateController(config, s.ClientCA, s.Certificate, s.SNICertificates, nil)
	if s.ClientCA != nil {
		keepCurrent(ctx, s.ClientCA, controller)
	}
	if s.Certificate != nil {
		keepCurrent(ctx, s.Certificate, controller)
	}
	for _, pair := range s.SNICertificates {
		keepCurrent(ctx, pair, controller)
	}
	if err := controller.RunOnce(); err != nil {
		klog.V(2).InfoS("No certificate to serve yet", "err", err)
	}
	go controller.Run(1, ctx.Done())
	config.GetConfigForClient = controller.GetConfigForClient
	return config
}

// keepCurrent reads the content now, and when it changes, until ctx ends. The content logs errors.
func keepCurrent(ctx context.Context, content dynamiccertificates.Notifier, user dynamiccertificates.Listener) {
	content.AddListener(user)
	if runner, ok := content.(dynamiccertificates.ControllerRunner); ok {
		_ = runner.RunOnce(ctx)
		go runner.Run(ctx, 1)
	}
}

// connectionLog is the log of net/http. Any client can cause failed handshakes: they need a high verbosity.
type connectionLog struct{}

func (connectionLog) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte("TLS handshake error")) {
		klog.V(5).InfoS("TLS handshake failed", "message", string(line))
	} else {
		klog.InfoS("Error of the HTTP server", "message", string(line))
	}
	return len(line), nil
}
