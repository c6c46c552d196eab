package apiserver

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// transport sends the requests of one user to an API server, without a network.
type transport struct {
	server *Server
	user   user.Info
}

// lost is the error of a request whose answer did not arrive.
type lost struct{ path string }

func (l lost) Error() string { return fmt.Sprintf("read %s: connection reset by peer", l.path) }

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := readAll(r)
	if err != nil {
		return nil, err
	}
	info, err := resolver.NewRequestInfo(r)
	if err != nil {
		return nil, err
	}
	asked := Request{
		Server: t.server.Name, User: effectiveUser(t.user, r), UserAgent: r.UserAgent(), Info: *info, Query: r.URL.Query(), Body: body, Time: time.Now(),
	}
	fault := t.server.cluster.fault(asked)
	if err := pause(r.Context(), fault.Delay); err != nil {
		return nil, err
	}
	switch {
	case fault.LostRequest:
		return nil, lost{r.URL.Path}
	case fault.Status != nil:
		return fault.answer(r)
	}
	t.server.cluster.recordRead(asked)
	response, err := t.serve(r, info, body)
	if err == nil && fault.LostAnswer {
		response.Body.Close()
		return nil, lost{r.URL.Path}
	}
	return response, err
}

func readAll(r *http.Request) ([]byte, error) {
	if r.Body == nil {
		return nil, nil
	}
	defer r.Body.Close()
	return io.ReadAll(r.Body)
}

func pause(ctx context.Context, delay time.Duration) error {
	if delay == 0 {
		return nil
	}
	select {
	case <-time.After(delay):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// serve returns when the header is complete: for all requests but watches, after the answer is.
func (t *transport) serve(r *http.Request, info *request.RequestInfo, body []byte) (*http.Response, error) {
	ctx, cancel := context.WithCancel(r.Context())
	stop := context.AfterFunc(t.server.ctx, cancel)
	if info.Verb == "watch" {
		forget := t.server.watches.add(cancel)
		context.AfterFunc(ctx, forget)
	}
	ctx = request.WithReceivedTimestamp(audit.WithAuditContext(ctx), time.Now())
	ctx = request.WithUser(withServer(withUserAgent(ctx, r.UserAgent()), t.server), t.user)
	inner := r.Clone(request.WithRequestInfo(ctx, info))
	inner.Body, inner.RemoteAddr, inner.RequestURI = io.NopCloser(bytes.NewReader(body)), "127.0.0.1:1", r.URL.RequestURI()
	reader, writer := io.Pipe()
	w := &responseWriter{header: http.Header{}, body: writer, ready: make(chan struct{}), stream: info.Verb == "watch"}
	t.server.cluster.running.Go(func() {
		defer stop()
		defer cancel()
		defer w.finish()
		t.server.handler(info).ServeHTTP(w, inner)
	})
	select {
	case <-w.ready:
	case <-r.Context().Done():
		cancel()
		reader.Close()
		return nil, r.Context().Err()
	case <-t.server.ctx.Done():
		reader.Close()
		return nil, lost{r.URL.Path}
	}
	if !w.stream && w.aborted {
		return nil, lost{r.URL.Path}
	}
	return w.response(r, reader, cancel), nil
}
