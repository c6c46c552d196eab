package integration

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

// A read that fails is neither an object that is there nor one that is not: the pass
// ends, and another one begins a while later.
func TestReadsThatFail(t *testing.T) {
	for _, resource := range []string{"validatingwebhookconfigurations", "services", "secrets"} {
		t.Run(resource, func(t *testing.T) {
			e := newParallelEnv(t)
			e.group("og", allNamespaces)
			e.runDeployments()
			var failed, mended atomic.Int32
			config := cluster.Config()
			config.Wrap(func(rt http.RoundTripper) http.RoundTripper {
				return roundTripper(func(r *http.Request) (*http.Response, error) {
					if r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/"+resource+"/") && mended.Load() == 0 {
						failed.Add(1)
						return nil, errors.New("the network is down")
					}
					return rt.RoundTrip(r)
				})
			})
			m := e.manageThrough(config)
			e.create(csv("operator.v1", "server"))
			e.eventually("a read fails", func() (bool, any) { return failed.Load() > 0, nil })
			before := m.passes("ClusterServiceVersion")
			e.eventually("the manager tries again", func() (bool, any) { return m.passes("ClusterServiceVersion") > before+1, failed.Load() })
			mended.Store(1)
			e.succeeds("operator.v1")
		})
	}
}
