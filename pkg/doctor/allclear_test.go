package doctor

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/route"
)

// Of a webhook that fails closed there is no finding only if API servers can call its Service at
// its port, and every ready endpoint was asked and serves. All combinations of facts are tried.
func TestAllClearNeedsEveryAnswer(t *testing.T) {
	outcomes := map[string]Answer{
		"serves":          {Asked: true, NotAfter: now.AddDate(1, 0, 0)},
		"not asked":       {Message: "port-forward is refused"},
		"fails":           {Asked: true, Reason: "Refused", Message: "it refuses connections"},
		"zero value":      {},
		"expires tonight": {Asked: true, NotAfter: now.Add(1)},
	}
	for _, kind := range []string{Validating, Mutating, Conversion, APIService} {
		for _, unverified := range []bool{false, true} {
			for _, by := range []route.By{route.ByClusterIP, route.ByEndpoint, route.ByExternalName, ""} {
				for ready := range 3 {
					for a, first := range outcomes {
						for b, second := range outcomes {
							for answered := range 3 {
								w := Webhook{Kind: kind, Object: "w", Fails: true, Service: shop, Port: 443, Unverified: unverified, Rules: newCluster().hook("v", shop, "Fail", "configmaps").Rules}
								f := Facts{
									Webhooks: []Webhook{w}, Services: map[types.NamespacedName]Service{shop: {By: by, Ports: map[int32]int{443: ready}, Ready: 2}},
									Answers: map[string][]Answer{w.String(): []Answer{first, second}[:answered]},
								}
								allClear := by == route.ByClusterIP && ready > 0 && answered >= ready
								for _, name := range []string{a, b}[:answered] {
									allClear = allClear && name == "serves"
								}
								if found := Judge(f, now); (len(found) == 0) != allClear {
									t.Fatalf("%s", fmt.Sprintf("%s, unverified %t, called by %q, %d ready, %d answers of %q and %q: %+v", kind, unverified, by, ready, answered, a, b, found))
								}
							}
						}
					}
				}
			}
		}
	}
}
