package hosting

import (
	"errors"
	"net/http"
	"sync/atomic"
	"time"
)

// drain is how a process leaves without losing a call. From SIGTERM on it is not ready,
// so that no new connections are made to it, and it ends the connections that there are
// one by one: the answer to a connection's next call says that it was the last one. A
// caller then never writes to a connection that is being closed.
type drain struct {
	begun    atomic.Bool
	lastCall atomic.Int64 // Unix time in nanoseconds
}

// A connection that no call came on is closed at the end, and a call that is being
// written to it at that instant is lost: HTTP/1.1 has no way to say beforehand that an idle
// connection ends. So the end is when nobody calls any more: when no call has come for a
// quarter of the period, which is waited for three quarters of it at most.
func patience(period time.Duration) (quiet, atMost time.Duration) {
	return period / 4, period * 3 / 4
}

func (d *drain) begin() {
	d.begun.Store(true)
}

// wait returns when the period is over and nobody calls any more.
func (d *drain) wait(period time.Duration) {
	<-time.After(period)
	quiet, atMost := patience(period)
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

// check is for /readyz.
func (d *drain) check() error {
	if d.begun.Load() {
		return errors.New("the process is shutting down")
	}
	return nil
}

// handler ends connections while draining; HTTP/2 puts the header as a GOAWAY. Reviews
// are posted; probes, which go on to the end, are not.
func (d *drain) handler(next http.Handler) http.Handler {
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
