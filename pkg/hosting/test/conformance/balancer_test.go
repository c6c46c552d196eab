package conformance

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/hostingtest"
)

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
