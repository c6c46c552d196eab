package integration

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"k8s.io/client-go/rest"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// freezer is a proxy before the API server that can hold back a client's watches of a resource.
type freezer struct {
	resource string
	config   *rest.Config
	ice      sync.RWMutex
	thaw     func()
	held     atomic.Int32 // reads
}

func (e *env) freezer(resource string) *freezer {
	e.Helper()
	f := &freezer{resource: resource, thaw: func() {}}
	upstream := cluster.Config()
	upstream.Wrap(f.through)
	proxy, err := kube.NewProxy(upstream, nil)
	e.must(err)
	e.Cleanup(func() {
		f.thaw() // the proxy ends with its last answer
		proxy.Close()
	})
	f.config = proxy.Config()
	return f
}

func (f *freezer) freeze() {
	f.ice.Lock()
	f.thaw = sync.OnceFunc(f.ice.Unlock)
}

// through wraps the proxy's transport: what the API server reports stays in the proxy.
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

// Read returns what there is once the ice no longer exists.
func (b frozenBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if !b.ice.TryRLock() {
		b.held.Add(1)
		b.ice.RLock()
	}
	b.ice.RUnlock()
	return n, err
}
