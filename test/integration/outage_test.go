package integration

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// A read that fails is neither an object that exists nor one that does not: the reconciliation
// ends, and another one begins a while later.
func TestReadsThatFail(t *testing.T) {
	for resource, test := range map[string]struct{ before, asks, after func(*env) }{
		"services": {
			before: func(e *env) { authorsService(e, "server-service") },
			asks:   func(e *env) { e.create(csv("operator.v1", "server")) },
			after:  func(e *env) { e.succeeds("operator.v1") },
		},
		"secrets":                         {anOperator, asksForARotation, endsTheRotation},
		"validatingwebhookconfigurations": {anOperator, asksForARotation, endsTheRotation},
	} {
		t.Run(resource, func(t *testing.T) {
			e := newOperatorEnv(t)
			var down atomic.Bool
			var failed atomic.Int32
			config := cluster.Config()
			config.Wrap(func(rt http.RoundTripper) http.RoundTripper {
				return roundTripper(func(r *http.Request) (*http.Response, error) {
					if down.Load() && ofThePass(r, resource) {
						failed.Add(1)
						return nil, errors.New("the network is down")
					}
					return rt.RoundTrip(r)
				})
			})
			m := manageThrough(e, config)
			test.before(e)
			down.Store(true)
			test.asks(e)
			e.eventually("a read fails", func() (bool, any) { return failed.Load() > 0, nil })
			before := m.passes("ClusterServiceVersion")
			e.eventually("the manager tries again", func() (bool, any) { return m.passes("ClusterServiceVersion") > before+1, failed.Load() })
			down.Store(false)
			test.after(e)
		})
	}
}

func anOperator(e *env)       { e.install(csv("operator.v1", "server")) }
func asksForARotation(e *env) { e.order("once") }
func endsTheRotation(e *env)  { rotates(e, 2) }

// ofThePass distinguishes the reads of a reconciliation from reads of the caches:
// it asks for one object, or for all of one owner.
func ofThePass(r *http.Request, resource string) bool {
	one := strings.Contains(r.URL.Path, "/"+resource+"/")
	ofOneOwner := strings.HasSuffix(r.URL.Path, "/"+resource) && strings.Contains(r.URL.Query().Get("labelSelector"), wellknown.LabelOwnerNamespace+"=")
	return r.Method == http.MethodGet && (one || ofOneOwner)
}
