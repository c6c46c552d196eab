package apiservers

import (
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// Addresses count only if there are as many API servers.
func TestIncomplete(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	renewed := func(ago time.Duration) coordinationv1.Lease {
		return coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{RenewTime: &metav1.MicroTime{Time: now.Add(-ago)}, LeaseDurationSeconds: new(int32(3600))}}
	}
	alive, dead := renewed(time.Minute), renewed(time.Hour)
	for name, test := range map[string]struct {
		addresses  int
		identities []coordinationv1.Lease
		complete   bool
		number     int
	}{
		"one":                       {1, []coordinationv1.Lease{alive}, true, 1},
		"three":                     {3, []coordinationv1.Lease{alive, alive, alive}, true, 3},
		"one, of a load balancer":   {1, []coordinationv1.Lease{alive, alive}, false, 2},
		"one is not listed":         {2, []coordinationv1.Lease{alive, alive, alive}, false, 3},
		"one has just ended":        {2, []coordinationv1.Lease{alive}, false, 2},
		"one has ended long ago":    {1, []coordinationv1.Lease{alive, dead}, true, 1},
		"no identities":             {1, nil, false, 0},
		"no addresses":              {0, nil, false, 0},
		"a Lease without its times": {1, []coordinationv1.Lease{{}}, false, 0},
	} {
		alive := Alive(test.identities, now)
		installtest.Same(t, name, test.complete, Incomplete(test.addresses, alive) == "")
		installtest.Same(t, name+": number", test.number, Number(test.addresses, alive))
	}
}
