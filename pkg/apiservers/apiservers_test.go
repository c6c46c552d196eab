package apiservers

import (
	"maps"
	"slices"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func TestConfigs(t *testing.T) {
	slice := func(port *int32, addresses ...string) discoveryv1.EndpointSlice {
		s := discoveryv1.EndpointSlice{Ports: []discoveryv1.EndpointPort{{Port: port}}}
		for _, address := range addresses {
			s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{address}})
		}
		return s
	}
	empty := discoveryv1.EndpointSlice{Ports: []discoveryv1.EndpointPort{{Port: new(int32(1))}}, Endpoints: []discoveryv1.Endpoint{{}}}
	all := Configs(&rest.Config{Host: "https://balancer", BearerToken: "token"}, []discoveryv1.EndpointSlice{
		slice(new(int32(6443)), "192.0.2.1", "192.0.2.2"), slice(new(int32(6443)), "2001:db8::1"), slice(nil, "192.0.2.3"), empty,
	})
	installtest.Same(t, "addresses", []string{"192.0.2.1:6443", "192.0.2.2:6443", "[2001:db8::1]:6443"}, slices.Sorted(maps.Keys(all)))
	one := all["192.0.2.1:6443"]
	installtest.Same(t, "one of them", []string{"https://192.0.2.1:6443", "kubernetes.default.svc", "token"}, []string{one.Host, one.ServerName, one.BearerToken})
}

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
