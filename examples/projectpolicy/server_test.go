package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

const patience = 10 * time.Second

func TestServerServesTheNewCertificate(t *testing.T) {
	dir := t.TempDir()
	old, renewed := mint(t, 1), mint(t, 2)
	old.write(t, dir)
	s := newServer("", http.NotFoundHandler(), newCertificate(dir))
	address, _, stop := start(t, s)
	defer stop()

	get(t, clientTrusting(t, old), address)
	renewed.write(t, dir)
	get(t, clientTrusting(t, renewed), address)
}

func TestServerDrains(t *testing.T) {
	dir := t.TempDir()
	pair := mint(t, 1)
	pair.write(t, dir)
	arrived, answer := make(chan struct{}), make(chan struct{})
	s := newServer("", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			close(arrived)
			<-answer
		}
	}), newCertificate(dir))
	// Long enough for the calls below to be made while it drains.
	s.drain = time.Second
	address, ended, stop := start(t, s)
	client := clientTrusting(t, pair)

	if err := s.Serving(); err != nil {
		t.Errorf("not ready while serving: %v", err)
	}
	if response := get(t, client, address); response.Close {
		t.Error("a connection is closed while serving")
	}

	slow := make(chan error, 1)
	go func() {
		response, err := client.Get("https://" + address + "/slow")
		if err == nil {
			err = response.Body.Close()
		}
		slow <- err
	}()
	wait(t, arrived, "the slow call")

	stop()
	until(t, func() bool { return s.Serving() != nil }, "the server drains")
	if response := get(t, client, address); !response.Close {
		t.Error("a connection is kept while draining: the next call comes here again")
	}

	until(t, func() bool { return refused(address) }, "no new connections are taken")
	select {
	case err := <-ended:
		t.Fatalf("ended with a call under way: %v", err)
	default:
	}
	close(answer)
	if err := wait(t, slow, "the slow call's answer"); err != nil {
		t.Errorf("a call under way was cut off: %v", err)
	}
	if err := wait(t, ended, "the end"); err != nil {
		t.Errorf("ended with %v", err)
	}
}

func TestProbes(t *testing.T) {
	s := newServer("", http.NotFoundHandler(), newCertificate(t.TempDir()))
	handler := probes(s.Serving)
	ask := func(path string) (int, string) {
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, path, nil))
		return recorder.Code, strings.TrimSpace(recorder.Body.String())
	}

	if code, body := ask("/readyz"); code != http.StatusOK {
		t.Errorf("ready: %d %s", code, body)
	}
	s.draining.Store(true)
	if code, body := ask("/readyz"); code != http.StatusServiceUnavailable || body != "draining: this server is about to end" {
		t.Errorf("draining: %d %s", code, body)
	}
	if code, body := ask("/healthz"); code != http.StatusOK {
		t.Errorf("alive while draining: %d %s", code, body)
	}
}

// start runs the server on a free port until stop is called.
func start(t *testing.T, s *server) (address string, ended <-chan error, stop func()) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.serve(ctx, listener) }()
	t.Cleanup(func() { _ = s.http.Close() })
	return listener.Addr().String(), done, stop
}

func clientTrusting(t *testing.T, pair keyPair) *http.Client {
	t.Helper()
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pair.cert) {
		t.Fatal("not a certificate")
	}
	// HTTP/1.1, as the API server calls webhooks.
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: patience}
}

func get(t *testing.T, client *http.Client, address string) *http.Response {
	t.Helper()
	response, err := client.Get("https://" + address + "/")
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	return response
}

func refused(address string) bool {
	connection, err := net.Dial("tcp", address)
	if err == nil {
		_ = connection.Close()
	}
	return err != nil
}

func until(t *testing.T, condition func() bool, what string) {
	t.Helper()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	giveUp := time.After(patience)
	for !condition() {
		select {
		case <-look.C:
		case <-giveUp:
			t.Fatalf("gave up waiting: %s", what)
		}
	}
}

func wait[T any](t *testing.T, from <-chan T, what string) T {
	t.Helper()
	select {
	case value := <-from:
		return value
	case <-time.After(patience):
		t.Fatalf("gave up waiting for %s", what)
		panic("unreachable")
	}
}
