package kube

import (
	"context"
	"io"
	"net"
	"net/url"
	"os"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/rest"
)

// Balancer returns a configuration for an address that leads each new connection to the next API server.
func Balancer(t testing.TB, servers ...*rest.Config) *rest.Config {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp4", addressOf(os.Getpid()).String()+":0")
	must(t, err)
	t.Cleanup(func() { listener.Close() })
	var upstreams []string
	for _, server := range servers {
		host, err := url.Parse(server.Host)
		must(t, err)
		upstreams = append(upstreams, host.Host)
	}
	var next atomic.Int64
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go join(t.Context(), client, upstreams[int(next.Add(1))%len(upstreams)])
		}
	}()
	config := rest.CopyConfig(servers[0])
	config.Host = "https://" + listener.Addr().String()
	return config
}

// join forwards a connection until one side ends it.
func join(ctx context.Context, client net.Conn, upstream string) {
	defer client.Close()
	server, err := new(net.Dialer).DialContext(ctx, "tcp4", upstream)
	if err != nil {
		return
	}
	defer server.Close()
	go func() {
		_, _ = io.Copy(server, client)
		server.Close()
	}()
	_, _ = io.Copy(client, server)
}
