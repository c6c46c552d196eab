// Package lag is the link between an API server and etcd. It can hold back watch events, so that what the API server
// has in its caches is behind, while it reads and writes as before.
package lag

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
)

// watchPath is the method of etcd's gRPC interface that streams events.
const watchPath = "/etcdserverpb.Watch/Watch"

// maxStreams is the number of requests that one connection may have at a time. etcd itself has no limit.
const maxStreams = 1 << 16

// Link forwards gRPC calls to one etcd, without TLS. New returns one.
type Link struct {
	server *http.Server

	mutex    sync.Mutex
	released chan struct{} // open while the link is held; nil while it is not
}

// New returns a link to an address of etcd.
func New(etcd string) *Link {
	l := &Link{}
	protocols := &http.Protocols{}
	protocols.SetUnencryptedHTTP2(true)
	proxy := &httputil.ReverseProxy{
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: "http", Host: etcd}) },
		Transport:      &http.Transport{Protocols: protocols},
		FlushInterval:  -1, // each message at once
		ModifyResponse: l.gate,
		ErrorLog:       log.New(io.Discard, "", 0), // it has every watch that a client ends
	}
	// No limits of time: a watch lasts as long as its API server.
	l.server = &http.Server{Handler: proxy, Protocols: protocols, HTTP2: &http.HTTP2Config{MaxConcurrentStreams: maxStreams}}
	return l
}

// Serve forwards what arrives at a listener until the listener fails.
func (l *Link) Serve(listener net.Listener) error { return l.server.Serve(listener) }

// Hold keeps back watch events until Release.
func (l *Link) Hold() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.released == nil {
		l.released = make(chan struct{})
	}
}

// Release forwards the watch events that Hold kept back, and later ones.
func (l *Link) Release() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.released != nil {
		close(l.released)
		l.released = nil
	}
}

// Held reports whether the link keeps back watch events.
func (l *Link) Held() bool { return l.holding() != nil }

func (l *Link) holding() <-chan struct{} {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.released
}

// await returns when the link is not held, or with the error of a context that has ended.
func (l *Link) await(ctx context.Context) error {
	released := l.holding()
	if released == nil {
		return nil
	}
	select {
	case <-released:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *Link) gate(response *http.Response) error {
	if response.Request.URL.Path == watchPath {
		response.Body = gated{response.Body, func() error { return l.await(response.Request.Context()) }}
	}
	return nil
}

// gated returns what it has read only after await.
type gated struct {
	io.ReadCloser

	await func() error
}

func (g gated) Read(p []byte) (int, error) {
	n, err := g.ReadCloser.Read(p)
	if held := g.await(); held != nil {
		return 0, held
	}
	return n, err
}
