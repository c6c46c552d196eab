package flags

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// maxIdle is longer than the minute after which an API server ends a request that is no watch (--request-timeout).
const maxIdle = 75 * time.Second

// idleTimeout ends requests to an API server that accepts connections and sends nothing. A watch has no limit after its
// first byte, and an upgraded connection, such as a port-forward, has none.
type idleTimeout struct {
	next  http.RoundTripper
	limit time.Duration
}

func (i idleTimeout) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Header.Get("Upgrade") != "" {
		return i.next.RoundTrip(r)
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	timer := time.AfterFunc(i.limit, func() {
		cancel(fmt.Errorf("the API server at %s has sent nothing for %s: see whether it answers with kubectl get --raw /readyz, then run the same command again", r.URL.Host, i.limit))
	})
	response, err := i.next.RoundTrip(r.WithContext(ctx))
	if err != nil {
		timer.Stop()
		defer cancel(nil)
		if cause := context.Cause(ctx); cause != nil && r.Context().Err() == nil {
			return nil, cause
		}
		return nil, err
	}
	if r.URL.Query().Get("watch") != "" {
		timer.Stop()
	}
	response.Body = &body{ReadCloser: response.Body, timer: timer, limit: i.limit, cause: func() error { return context.Cause(ctx) }, cancel: func() { cancel(nil) }}
	return response, nil
}

type body struct {
	io.ReadCloser

	timer  *time.Timer
	limit  time.Duration
	cause  func() error // why the request was ended
	cancel func()
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 && b.timer.Stop() { // After a Stop it does not run again.
		b.timer.Reset(b.limit)
	}
	if cause := b.cause(); err != nil && !errors.Is(err, io.EOF) && cause != nil {
		return n, cause
	}
	return n, err
}

func (b *body) Close() error {
	b.timer.Stop()
	defer b.cancel()
	return b.ReadCloser.Close()
}
