package main

import (
	"context"
	"crypto/tls"
	"errors"
	"log"
	"net/http"
	"os/signal"
	"slices"
	"syscall"
	"time"
)

const certificates = "/tmp/k8s-webhook-server/serving-certs/"

// serve is a server of net/http, and what its flags add to that.
func serve(flags []string) {
	server := &http.Server{Addr: ":9443", Handler: handlers(), TLSConfig: &tls.Config{}}
	certificate, key := certificates+"tls.crt", certificates+"tls.key"
	if slices.Contains(flags, "--foreign") {
		server.TLSConfig.Certificates = []tls.Certificate{foreign()}
		certificate, key = "", ""
	}
	if slices.Contains(flags, "--reload") {
		server.TLSConfig.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			pair, err := tls.LoadX509KeyPair(certificate, key)
			return &pair, err
		}
	}
	drained := make(chan struct{})
	if slices.Contains(flags, "--drain") {
		go drain(server, drained)
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

// drain goes on serving until nobody calls this pod any more: kube-proxy learns a little
// late that the pod ends.
func drain(server *http.Server, drained chan<- struct{}) {
	defer close(drained)
	told, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	<-told.Done()
	server.SetKeepAlivesEnabled(false)
	<-time.After(5 * time.Second)
	if err := server.Shutdown(context.Background()); err != nil {
		log.Print(err)
	}
}
