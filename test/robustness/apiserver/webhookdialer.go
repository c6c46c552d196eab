package apiserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"

	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/rest"
)

// webhookDialer connects an API server with the conversion webhooks of custom resources.
type webhookDialer struct{ cluster *Cluster }

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
func (d webhookDialer) ClientConfigFor(string) (*rest.Config, error) {
	return &rest.Config{Dial: d.dial}, nil
}

// ClientConfigForService implements webhook.AuthenticationInfoResolver.
func (d webhookDialer) ClientConfigForService(string, string, int) (*rest.Config, error) {
	return &rest.Config{Dial: d.dial}, nil
}

func (d webhookDialer) dial(ctx context.Context, _, address string) (net.Conn, error) {
	if d.cluster.Dial == nil {
		return nil, errNoNetwork
	}
	return d.cluster.Dial(ctx, address)
}
