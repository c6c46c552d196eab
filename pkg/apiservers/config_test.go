package apiservers

import (
	"maps"
	"slices"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
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
