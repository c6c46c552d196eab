package conformance

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"regexp"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/hostingtest"
)

// Each connection carries many calls.
func TestRollingRestart(t *testing.T) {
	t.Parallel()
	for protocol, flag := range map[string]string{
		"HTTP/2.0": "--disable-http2-serving=false",
		"HTTP/1.1": "--disable-http2-serving=true",
	} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			namespace, client := newNamespace(t, "rolling")
			first, second := newAddress(), newAddress()
			service := startBalancer(t, first)
			args := []string{flag, "--register-webhooks", "--webhook-url=https://" + service.address + ":9443", "--cert-dir=" + t.TempDir(), "--drain-period=8s"}
			old := launch(t, judgingIn(namespace), first, args...)
			old.waitUntilReady(t)
			waitUntilCalled(t, client, namespace)
			if got := protocolOf(t, old); got != protocol {
				t.Fatalf("it speaks %s", got)
			}
			load := startLoad(t, client, namespace)
			load.another(t, 100)

			renewed := launch(t, judgingIn(namespace), second, args...)
			renewed.waitUntilReady(t)
			service.set(first, second)
			load.another(t, 100)

			old.stop()
			hostingtest.Eventually(t, "the old server is not ready", func() bool {
				code, _ := old.get(t, "/readyz")
				return code != http.StatusOK
			})
			load.another(t, 50) // endpoints change later
			service.set(second)
			if err := old.end(); err != nil {
				t.Error(err)
			}
			load.another(t, 100)
			load.wantNoneFailed(t)

			if _, metrics := renewed.get(t, "/metrics"); !regexp.MustCompile(`hosting_webhook_requests_total{outcome="allowed",webhook="judge"} [1-9]`).MatchString(metrics) {
				t.Errorf("the new server has answered no call:\n%s", metrics)
			}
		})
	}
}

// protocolOf returns the protocol that a client of both versions gets.
func protocolOf(t *testing.T, h *host) string {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport}).Get(h.url("/readyz"))
	hostingtest.Must(t, err)
	defer response.Body.Close()
	return response.Proto
}

// balancer acts as a Service: it forwards new connections to one of its endpoints.
type balancer struct {
	address   string
	mu        sync.Mutex
	endpoints []string
	next      int
	passed    atomic.Int64
}

func startBalancer(t *testing.T, endpoints ...string) *balancer {
	t.Helper()
	b := &balancer{address: newAddress(), endpoints: endpoints}
	listener, err := net.Listen("tcp", b.address+":9443")
	hostingtest.Must(t, err)
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go b.pass(client)
		}
	}()
	return b
}

func (b *balancer) set(endpoints ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.endpoints = endpoints
}

func (b *balancer) pick() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.next++
	return b.endpoints[b.next%len(b.endpoints)]
}

func (b *balancer) pass(client net.Conn) {
	defer client.Close()
	b.passed.Add(1)
	server, err := net.Dial("tcp", b.pick()+":9443")
	if err != nil {
		return
	}
	defer server.Close()
	go func() {
		_, _ = io.Copy(server, client)
		_ = server.(*net.TCPConn).CloseWrite()
	}()
	_, _ = io.Copy(client, server)
}
