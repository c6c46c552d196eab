package integration

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// A canary is deleted in the reconciliation that created it, before anything else is written.
func TestCanaryIsDeletedAtOnce(t *testing.T) {
	for name, serves := range map[string]bool{"it serves": true, "no server listens": false} {
		t.Run(name, func(t *testing.T) {
			e := newOperatorEnv(t)
			var lock sync.Mutex
			var writes []string
			proxy := proxy(e, func(_ int, r *http.Request) kube.Verdict {
				if !r.URL.Query().Has("dryRun") {
					lock.Lock()
					defer lock.Unlock()
					writes = append(writes, r.Method+" "+r.URL.Path)
				}
				return kube.Pass
			})
			manageThrough(e, proxy.Config(), throughAPIServer)
			e.create(csv("operator.v1", "server"))
			e.eventually("there is a Deployment", func() (bool, any) { return e.deployment("server") != nil, nil })
			listener := listen(e)
			endpoint(e, listener)
			if serves {
				answer(e, listener, servingCertificate(e), permitAtValidate)
				e.succeeds("operator.v1")
			} else {
				e.must(listener.Close())
				e.webhookIs("", "Refused")
			}
			lock.Lock()
			seen := slices.Clone(writes)
			lock.Unlock()
			sent := 0
			for i, write := range seen[:len(seen)-1] {
				canary, found := strings.CutPrefix(write, http.MethodPatch)
				if !found || !strings.Contains(canary, "canary") {
					continue
				}
				if sent++; seen[i+1] != http.MethodDelete+canary {
					t.Errorf("after %s comes %s", write, seen[i+1])
				}
			}
			if sent == 0 {
				t.Errorf("no canary was sent: %s", seen)
			}
		})
	}
}
