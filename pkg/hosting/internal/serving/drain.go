package serving

import (
	"errors"
	"net/http"
	"sync/atomic"
	"time"
)

// Drain ends a process without losing a call. After Begin, the process is not ready, and each connection ends with the
// answer to its next call: no caller writes to a connection that is being closed.
type Drain struct {
	begun    atomic.Bool
	lastCall atomic.Int64 // Unix time in nanoseconds
}

// quietTime returns how long no call must have come before the listener is closed, and the longest wait for that. A call
// that is being written to an idle connection when it is closed is lost: an HTTP/1.1 server cannot announce its end.
func quietTime(period time.Duration) (quiet, atMost time.Duration) {
	return period / 4, period * 3 / 4
}

// Begin begins the drain.
func (d *Drain) Begin() { d.begun.Store(true) }

// Wait returns when the period has passed and no calls come any more.
func (d *Drain) Wait(period time.Duration) {
	<-time.After(period)
	quiet, atMost := quietTime(period)
	last := time.Now().Add(atMost)
	for {
		end := time.Unix(0, d.lastCall.Load()).Add(quiet)
		if end.After(last) {
			end = last
		}
		if !end.After(time.Now()) {
			return
		}
		<-time.After(time.Until(end))
	}
}

// Check returns an error during the drain. It is a check of /readyz.
func (d *Drain) Check() error {
	if d.begun.Load() {
		return errors.New("the process is shutting down")
	}
	return nil
}

// Handler ends connections during the drain. HTTP/2 sends the header as GOAWAY. Only POST requests
// count as calls: probes continue until the end.
func (d *Drain) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			d.lastCall.Store(time.Now().UnixNano())
		}
		if d.begun.Load() {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}
