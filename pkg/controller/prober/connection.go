package prober

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"net"
	"net/http"
	"sync"

	"k8s.io/client-go/rest"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apiservers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmclient"
)

// connection is one connection to an API server.
type connection struct {
	client    *olmclient.Client
	transport *http.Transport

	mutex sync.Mutex
	dials int
	state *tls.ConnectionState // of the last answer
}

// newConnection returns a client that opens one connection, for its first request.
func newConnection(config *rest.Config, first *firstSession) (*connection, error) {
	security, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, err
	}
	if security == nil {
		security = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	security.ClientSessionCache, security.NextProtos = first, []string{"http/1.1"}
	c := &connection{}
	dial := config.Dial
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	c.transport = &http.Transport{TLSClientConfig: security, Proxy: config.Proxy, MaxConnsPerHost: 1, DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		c.mutex.Lock()
		defer c.mutex.Unlock()
		c.dials++
		return dial(ctx, network, address)
	}}
	if c.transport.Proxy == nil {
		c.transport.Proxy = http.ProxyFromEnvironment
	}
	authenticated, err := rest.HTTPWrappersForConfig(config, c)
	if err != nil {
		return nil, err
	}
	c.client, err = olmclient.NewFor(config, &http.Client{Transport: authenticated})
	return c, err
}

// RoundTrip records the connection of the answer.
func (c *connection) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := c.transport.RoundTrip(request)
	if err == nil {
		c.mutex.Lock()
		defer c.mutex.Unlock()
		c.state = response.TLS
	}
	return response, err
}

// answer identifies the API server at the other end.
func (c *connection) answer() (apiservers.Answer, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.dials > 1 {
		return apiservers.Answer{}, errors.New("the connection was closed between two requests")
	}
	if c.state == nil || len(c.state.PeerCertificates) == 0 {
		return apiservers.Answer{}, errors.New("the API server was not called by TLS")
	}
	digest := sha256.Sum256(c.state.PeerCertificates[0].Raw)
	return apiservers.Answer{Certificate: hex.EncodeToString(digest[:]), First: c.state.DidResume}, nil
}

func (c *connection) close() { c.transport.CloseIdleConnections() }

// firstSession offers the TLS session of the first connection on all others. Only the API server that issued it continues it.
type firstSession struct {
	mutex   sync.Mutex
	session *tls.ClientSessionState
}

// Get returns the session.
func (f *firstSession) Get(string) (*tls.ClientSessionState, bool) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return f.session, f.session != nil
}

// Put keeps the first session.
func (f *firstSession) Put(_ string, session *tls.ClientSessionState) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.session = cmp.Or(f.session, session)
}
