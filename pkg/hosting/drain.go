package hosting

import (
	"errors"
	"net/http"
	"sync/atomic"
)

// drain is how a process leaves without losing a call. From SIGTERM on it is not ready,
// so that no new connections are made to it, and it ends the connections that there are
// one by one: the answer to a connection's next call says that it was the last one. A
// caller then never writes to a connection that is being closed.
type drain struct {
	begun atomic.Bool
}

func (d *drain) begin() {
	d.begun.Store(true)
}

// check is for /readyz.
func (d *drain) check() error {
	if d.begun.Load() {
		return errors.New("the process is shutting down")
	}
	return nil
}

// handler ends connections while draining; HTTP/2 puts the header as a GOAWAY.
func (d *drain) handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if d.begun.Load() {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}
