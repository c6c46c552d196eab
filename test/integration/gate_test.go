package integration

import (
	"bytes"
	"io"
	"net/http"
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
