package integration

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"k8s.io/client-go/rest"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// gate stands before a manager, and holds back writes of some kind while it is closed.
type gate struct {
	*env
	config  *rest.Config
	closed  atomic.Bool
	arrived atomic.Int32 // writes that it kept
	opened  chan struct{}
	open    func()
}

func (e *env) gate(keeps func(r *http.Request, body []byte) bool) *gate {
	e.Helper()
	g := &gate{env: e, opened: make(chan struct{})}
	g.open = sync.OnceFunc(func() { close(g.opened) })
	proxy := proxy(e, func(_ int, r *http.Request) kube.Verdict {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return kube.DropBefore
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if g.closed.Load() && keeps(r, body) {
			g.arrived.Add(1)
			<-g.opened
		}
		return kube.Pass
	})
	g.config = proxy.Config()
	return g
}

func (g *gate) close() { g.closed.Store(true) }

func (g *gate) keeps() {
	g.Helper()
	g.eventually("a write waits before the gate", func() (bool, any) { return g.arrived.Load() > 0, nil })
}

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
