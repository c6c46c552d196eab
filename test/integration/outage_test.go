package integration

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/vocabulary"
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
					if ofThePass(r, resource) && mended.Load() == 0 {
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

// ofThePass tells the reads of some resource that a pass makes from those of the caches:
// it asks for one object, or for all of one owner.
func ofThePass(r *http.Request, resource string) bool {
	one := strings.Contains(r.URL.Path, "/"+resource+"/")
	ofOneOwner := strings.HasSuffix(r.URL.Path, "/"+resource) && strings.Contains(r.URL.Query().Get("labelSelector"), vocabulary.LabelOwnerNamespace+"=")
	return r.Method == http.MethodGet && (one || ofOneOwner)
}
