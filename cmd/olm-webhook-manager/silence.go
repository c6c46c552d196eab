package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

// answerWithin is how long an API server may send nothing. It ends a request itself after a minute, if it is not a
// watch (its --request-timeout), so that one that says nothing for longer is not coming back.
const answerWithin = 75 * time.Second

// silence ends requests that an API server does not answer: without a limit, a command waits for one that
// accepts connections and does nothing. A watch may say nothing once it has begun, and what is upgraded, as for
// port-forward, is no request any more.
type silence struct {
	next  http.RoundTripper
	limit time.Duration
}

func (s silence) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Header.Get("Upgrade") != "" {
		return s.next.RoundTrip(r)
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	said := newAlarm(s.limit, func() { cancel(s.unanswered(r)) })
	response, err := s.next.RoundTrip(r.WithContext(ctx))
	if err != nil {
		said.stop()
		defer cancel(nil)
		if cause := context.Cause(ctx); cause != nil && r.Context().Err() == nil {
			return nil, cause
		}
		return nil, err
	}
	if r.URL.Query().Get("watch") != "" {
		said.stop()
	}
	response.Body = &answer{ReadCloser: response.Body, said: said, ended: func() error { return context.Cause(ctx) }, end: func() { cancel(nil) }}
	return response, nil
}

func (s silence) unanswered(r *http.Request) error {
	return fmt.Errorf("the API server at %s has sent nothing for %s: see whether it answers with kubectl get --raw /readyz, then run the same command again", r.URL.Host, s.limit)
}

// alarm calls a function unless it is put off in time, or stopped.
type alarm struct {
	timer *time.Timer
	limit time.Duration
	mutex sync.Mutex
	ended bool
}

func newAlarm(limit time.Duration, ring func()) *alarm {
	return &alarm{timer: time.AfterFunc(limit, ring), limit: limit}
}

func (a *alarm) putOff() {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if !a.ended {
		a.timer.Reset(a.limit)
	}
}

func (a *alarm) stop() {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.ended = true
	a.timer.Stop()
}

// answer is the body of a response.
type answer struct {
	io.ReadCloser
	said  *alarm
	ended func() error // why its request was ended; nil while it goes on
	end   func()
}

func (a *answer) Read(p []byte) (int, error) {
	n, err := a.ReadCloser.Read(p)
	if n > 0 {
		a.said.putOff()
	}
	if why := a.ended(); err != nil && !errors.Is(err, io.EOF) && why != nil {
		return n, why
	}
	return n, err
}

func (a *answer) Close() error {
	a.said.stop()
	defer a.end()
	return a.ReadCloser.Close()
}
