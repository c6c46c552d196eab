package main

import (
	"context"
	"crypto/tls"
	"errors"
	"log"
	"net/http"
	"os/signal"
	"slices"
	"sync/atomic"
	"syscall"
	"time"
)

const certificates = "/tmp/k8s-webhook-server/serving-certs/"

func serve(flags []string) {
	server := &http.Server{Addr: ":9443", Handler: handlers(), TLSConfig: &tls.Config{}}
	certificate, key := certificates+"tls.crt", certificates+"tls.key"
	if slices.Contains(flags, "--foreign") {
		server.TLSConfig.Certificates = []tls.Certificate{untrusted()}
		certificate, key = "", ""
	}
	if slices.Contains(flags, "--reload") {
		server.TLSConfig.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return load(certificate, key) }
	}
	drained := make(chan struct{})
	if slices.Contains(flags, "--drain") {
		leaving := &leave{next: server.Handler}
		server.Handler = leaving
		go drain(server, leaving, drained)
	} else {
		close(drained)
	}
	var err error
	if server.TLSConfig.GetCertificate != nil {
		err = server.ListenAndServeTLS("", "")
	} else {
		err = server.ListenAndServeTLS(certificate, key)
	}
	if !errors.Is(err, http.ErrServerClosed) {
		log.Fatal(err)
	}
	<-drained
}

// load reads a pair again that was replaced between its two files: the kubelet changes both at
// once, but no client can read both at once.
func load(certificate, key string) (*tls.Certificate, error) {
	pair, err := tls.LoadX509KeyPair(certificate, key)
	if err != nil {
		pair, err = tls.LoadX509KeyPair(certificate, key)
	}
	return &pair, err
}

// leave ends connections one by one: the answer to a connection's next call reports that it
// was the last. To close the ones that are idle at the moment would lose the calls that are
// being written to them.
type leave struct {
	next     http.Handler
	begun    atomic.Bool
	lastCall atomic.Int64 // Unix time in nanoseconds
}

func (l *leave) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost { // no probe
		l.lastCall.Store(time.Now().UnixNano())
	}
	if l.begun.Load() {
		w.Header().Set("Connection", "close")
	}
	l.next.ServeHTTP(w, r)
}

// drain continues to serve until no client calls this pod any more: kube-proxy learns a little
// late that the pod ends.
func drain(server *http.Server, leaving *leave, drained chan<- struct{}) {
	defer close(drained)
	terminated, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	<-terminated.Done()
	leaving.begun.Store(true)
	<-time.After(5 * time.Second)
	for last := time.Now().Add(5 * time.Second); time.Now().Before(last); {
		quiet := time.Until(time.Unix(0, leaving.lastCall.Load()).Add(time.Second))
		if quiet <= 0 {
			break
		}
		<-time.After(quiet)
	}
	if err := server.Shutdown(context.Background()); err != nil {
		log.Print(err)
	}
}
