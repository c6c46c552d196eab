package hosting

import (
	"bytes"
	"context"
	"crypto/tls"
	"log"
	"net/http"
	"time"

	"golang.org/x/net/http2"
	"k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/klog/v2"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/connlimit"
)

const (
	// maxConnections is more than the API servers of a cluster, its probes and its scrapers have.
	// Beyond it, a new connection closes the quietest one without a whole request.
	maxConnections = 250
	// maxHeaderBytes leaves room for the tokens of large identity providers.
	maxHeaderBytes = 16 << 10
	// headerTime is how long a TLS handshake, and the header of a request, may take.
	headerTime = 10 * time.Second
	// idleTime is the time after which API servers close an idle connection themselves.
	idleTime = 90 * time.Second
	// frameBytes is what each connection keeps for the frame that it reads: HTTP/2 reserves it by the length
	// that a frame announces. It is the least that the protocol allows.
	frameBytes = 16 << 10
	// streamBytes is the part of a body that HTTP/2 holds until the webhook reads it. Nearly all
	// reviews are smaller.
	streamBytes = 256 << 10
	// maxStreams is the number of calls of one HTTP/2 connection at once, unless a flag says it.
	maxStreams = 100
)

// serveTLS serves until stop is closed, and closes stopped when all calls have been answered. It
// replaces SecureServingInfo.Serve, which accepts any number of connections, and headers of 1 MiB.
func serveTLS(info *server.SecureServingInfo, handler http.Handler, shutdownTimeout time.Duration, stop <-chan struct{}) (stopped <-chan struct{}, err error) {
	connections := connlimit.New(info.Listener, maxConnections)
	s := &http.Server{
		Addr:              info.Listener.Addr().String(),
		Handler:           connections.Handler(handler),
		ConnContext:       connlimit.ConnContext,
		TLSConfig:         tlsConfig(info, stop),
		MaxHeaderBytes:    maxHeaderBytes,
		ReadHeaderTimeout: headerTime,
		IdleTimeout:       idleTime,
		ErrorLog:          connectionLog(),
	}
	if !info.DisableHTTP2 {
		if err := http2.ConfigureServer(s, http2Options(info)); err != nil {
			return nil, err
		}
	}
	stopped, _, err = server.RunServer(s, connections, shutdownTimeout, stop)
	return stopped, err
}

// http2Options are those of API servers.
func http2Options(info *server.SecureServingInfo) *http2.Server {
	streams := maxStreams
	if info.HTTP2MaxStreamsPerConnection > 0 {
		streams = info.HTTP2MaxStreamsPerConnection
	}
	return &http2.Server{
		IdleTimeout:                  idleTime,
		MaxConcurrentStreams:         uint32(streams), //nolint:gosec // the flag is validated
		MaxReadFrameSize:             frameBytes,
		MaxUploadBufferPerStream:     streamBytes,
		MaxUploadBufferPerConnection: int32(streamBytes * streams), //nolint:gosec // the flag is validated
	}
}

// tlsConfig is what the flags say, with certificates that are replaced while it is in use.
func tlsConfig(info *server.SecureServingInfo, stop <-chan struct{}) *tls.Config {
	config := &tls.Config{
		MinVersion:       max(tls.VersionTLS12, info.MinTLSVersion),
		NextProtos:       []string{"h2", "http/1.1"},
		CipherSuites:     info.CipherSuites,
		CurvePreferences: info.CurvePreferences,
	}
	if info.DisableHTTP2 {
		config.NextProtos = []string{"http/1.1"}
	}
	if info.ClientCA != nil {
		config.ClientAuth = tls.RequestClientCert // others may present a token
	}
	certificates := dynamiccertificates.NewDynamicServingCertificateController(config, info.ClientCA, info.Cert, info.SNICerts, nil)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		<-stop
		cancel()
	}()
	if info.ClientCA != nil {
		keepCurrent(ctx, info.ClientCA, certificates)
	}
	if info.Cert != nil {
		keepCurrent(ctx, info.Cert, certificates)
	}
	for _, pair := range info.SNICerts {
		keepCurrent(ctx, pair, certificates)
	}
	if err := certificates.RunOnce(); err != nil {
		klog.V(2).Infof("There is no certificate to serve yet: %v", err)
	}
	go certificates.Run(1, stop)
	config.GetConfigForClient = certificates.GetConfigForClient
	return config
}

// keepCurrent reads what a file has, and goes on reading it, until ctx ends. A file that is missing
// is reported by its reader.
func keepCurrent(ctx context.Context, file dynamiccertificates.Notifier, user dynamiccertificates.Listener) {
	file.AddListener(user)
	if reader, ok := file.(dynamiccertificates.ControllerRunner); ok {
		_ = reader.RunOnce(ctx)
		go reader.Run(ctx, 1)
	}
}

// connectionLog is what net/http reports. Any client can cause failed handshakes.
func connectionLog() *log.Logger { return log.New(connectionLogWriter{}, "", 0) }

type connectionLogWriter struct{}

func (connectionLogWriter) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte("TLS handshake error")) {
		klog.V(5).Info(string(line))
	} else {
		klog.Warning(string(line))
	}
	return len(line), nil
}
