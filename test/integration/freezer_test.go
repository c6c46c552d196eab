package integration

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
)

// freezer keeps a client's watches of some resource from telling anything new.
type freezer struct {
	resource string
	ice      sync.RWMutex
	held     atomic.Int32 // reads
}

func (f *freezer) freeze() { f.ice.Lock() }
func (f *freezer) thaw()   { f.ice.Unlock() }

// through wraps the transport of a client.
func (f *freezer) through(rt http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		response, err := rt.RoundTrip(r)
		if err == nil && strings.Contains(r.URL.Path, f.resource) && r.URL.Query().Get("watch") == "true" {
			response.Body = frozenBody{response.Body, f}
		}
		return response, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

type frozenBody struct {
	io.ReadCloser
	*freezer
}

// Read returns what there is once the ice is gone.
func (b frozenBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if !b.ice.TryRLock() {
		b.held.Add(1)
		b.ice.RLock()
	}
	b.ice.RUnlock()
	return n, err
}
