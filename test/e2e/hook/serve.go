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

// load reads a pair again if the kubelet replaced it between the two reads.
func load(certificate, key string) (*tls.Certificate, error) {
	pair, err := tls.LoadX509KeyPair(certificate, key)
	if err != nil {
		pair, err = tls.LoadX509KeyPair(certificate, key)
	}
	return &pair, err
}

// leave announces the end of each connection in the answer to its next call. A call that is being written to an idle
// connection when it is closed would be lost.
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

// drain serves until no client calls this pod any more: kube-proxy learns late that the pod ends.
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
