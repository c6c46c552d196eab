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

// Begin begins the drain.
func (d *Drain) Begin() { d.begun.Store(true) }

// Wait returns when the period has passed and no call has come for a quarter of it, after three quarters more at the
// latest. A call that is being written to an idle connection when it is closed is lost: an HTTP/1.1 server cannot
// announce its end.
func (d *Drain) Wait(period time.Duration) {
	<-time.After(period)
	last := time.Now().Add(period * 3 / 4)
	for {
		end := time.Unix(0, d.lastCall.Load()).Add(period / 4)
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
