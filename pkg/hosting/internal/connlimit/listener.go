// Package connlimit bounds how many connections a server has open.
package connlimit

import (
	"container/list"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
)

// Listener is a listener with a limit for the connections that are open. A new connection
// beyond the limit closes the one from which nothing has come for the longest time, among those without a
// whole request, so that connections which send nothing, or announce a body and do not send it,
// cannot keep out a probe or an API server. If every connection has a whole request in progress,
// the new one is closed.
type Listener struct {
	net.Listener
	limit int

	mu      sync.Mutex
	open    map[*conn]*state
	waiting *list.List // connections without a whole request in progress, the quietest first
}

// state is what is known of an open connection.
type state struct {
	requests int           // whole ones in progress; HTTP/2 has several at once
	waiting  *list.Element // nil while a whole request is in progress
}

// New limits the connections of a listener. The server needs Handler and ConnContext, too.
func New(l net.Listener, limit int) *Listener {
	return &Listener{Listener: l, limit: limit, open: map[*conn]*state{}, waiting: list.New()}
}

// Accept returns the next connection that is within the limit.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		accepted, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		counted := &conn{Conn: accepted, closed: l.forget}
		if l.admit(counted) {
			return counted, nil
		}
		accepted.Close()
	}
}

func (l *Listener) admit(c *conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.open) >= l.limit {
		oldest := l.waiting.Front()
		if oldest == nil {
			return false
		}
		evicted, _ := oldest.Value.(*conn)
		l.remove(evicted)
		evicted.Conn.Close()
	}
	l.open[c] = &state{waiting: l.waiting.PushBack(c)}
	return true
}

// connKey is the key of the connection in the context of its requests.
type connKey struct{}

// ConnContext is the hook of that name of the http.Server.
func ConnContext(ctx context.Context, c net.Conn) context.Context {
	if wrapped, ok := c.(interface{ NetConn() net.Conn }); ok { // TLS
		c = wrapped.NetConn()
	}
	return context.WithValue(ctx, connKey{}, c)
}

// Handler marks a connection as busy while next serves a request of it that has come whole, with its
// body. A connection whose header is refused is never busy, although net/http reports it as active
// until it is closed.
func (l *Listener) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, _ := r.Context().Value(connKey{}).(*conn)
		request := &request{listener: l, conn: c, body: r.Body}
		defer request.end()
		if hasNoBody(r) {
			request.begin()
		} else {
			l.heard(c)
			r.Body = request
		}
		next.ServeHTTP(w, r)
	})
}

// hasNoBody reports whether a request is whole with its header. For HTTP/2, ContentLength is 0 when
// the stream has ended, and also when the header announces 0 bytes and the stream may be open.
func hasNoBody(r *http.Request) bool {
	return r.Body == http.NoBody || r.ContentLength == 0 && r.Header.Get("Content-Length") == ""
}

type request struct {
	listener *Listener
	conn     *conn
	body     io.ReadCloser
	begun    bool
}

// Read reads the body, and marks the connection as busy when it has come to the end.
func (r *request) Read(p []byte) (int, error) {
	n, err := r.body.Read(p)
	switch {
	case errors.Is(err, io.EOF):
		r.begin()
	case n > 0:
		r.listener.heard(r.conn)
	}
	return n, err
}

func (r *request) Close() error { return r.body.Close() }

func (r *request) begin() {
	if !r.begun {
		r.begun = true
		r.listener.begin(r.conn)
	}
}

func (r *request) end() {
	if r.begun {
		r.listener.end(r.conn)
	}
}

// heard notes that something came from a connection.
func (l *Listener) heard(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.open[c]; s != nil && s.waiting != nil {
		l.waiting.MoveToBack(s.waiting)
	}
}

func (l *Listener) begin(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.open[c]
	if s == nil {
		return
	}
	s.requests++
	if s.waiting != nil {
		l.waiting.Remove(s.waiting)
		s.waiting = nil
	}
}

func (l *Listener) end(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.open[c]
	if s == nil {
		return
	}
	if s.requests--; s.requests == 0 {
		s.waiting = l.waiting.PushBack(c)
	}
}

func (l *Listener) forget(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.remove(c)
}

func (l *Listener) remove(c *conn) {
	if s := l.open[c]; s != nil && s.waiting != nil {
		l.waiting.Remove(s.waiting)
	}
	delete(l.open, c)
}

// conn reports when it is closed.
type conn struct {
	net.Conn
	closed func(*conn)
}

// Close closes the connection, and makes room for another one.
func (c *conn) Close() error {
	c.closed(c)
	return c.Conn.Close()
}
