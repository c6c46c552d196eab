package apiserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"

	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/rest"
)

// webhookDialer connects an API server with webhooks.
type webhookDialer struct{ server *Server }

var errNoNetwork = errors.New("no network: set Cluster.Dial")

// ResolveEndpoint implements webhook.ServiceResolver.
func (webhookDialer) ResolveEndpoint(namespace, name string, port int32) (*url.URL, error) {
	return &url.URL{Scheme: "https", Host: fmt.Sprintf("%s.%s.svc:%d", name, namespace, port)}, nil
}

// wrap is a webhook.AuthenticationInfoResolverWrapper.
func (d webhookDialer) wrap(webhook.AuthenticationInfoResolver) webhook.AuthenticationInfoResolver {
	return d
}

// ClientConfigFor implements webhook.AuthenticationInfoResolver.
func (d webhookDialer) ClientConfigFor(string) (*rest.Config, error) { return d.config(), nil }

// ClientConfigForService implements webhook.AuthenticationInfoResolver.
func (d webhookDialer) ClientConfigForService(string, string, int) (*rest.Config, error) {
	return d.config(), nil
}

func (d webhookDialer) config() *rest.Config {
	return &rest.Config{Dial: d.dial, WrapTransport: func(next http.RoundTripper) http.RoundTripper { return recordedCalls{d.server, next} }}
}

func (d webhookDialer) dial(ctx context.Context, _, address string) (net.Conn, error) {
	if d.server.cluster.Dial == nil {
		return nil, errNoNetwork
	}
	return d.server.cluster.Dial(ctx, address)
}
