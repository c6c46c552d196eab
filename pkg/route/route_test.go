package route

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func TestOf(t *testing.T) {
	for name, test := range map[string]struct {
		spec corev1.ServiceSpec
		want By
	}{
		"a cluster IP":      {corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP, ClusterIP: "10.0.0.1"}, ByClusterIP},
		"a node port":       {corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort, ClusterIP: "10.0.0.1"}, ByClusterIP},
		"a load balancer":   {corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, ClusterIP: "10.0.0.1"}, ByClusterIP},
		"headless":          {corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP, ClusterIP: corev1.ClusterIPNone}, ByEndpoint},
		"an external name":  {corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "hook.example.com"}, ByExternalName},
		"not allocated yet": {corev1.ServiceSpec{}, ByClusterIP},
	} {
		t.Run(name, func(t *testing.T) {
			installtest.Same(t, "called by", test.want, Of(&corev1.Service{Spec: test.spec}))
		})
	}
}

func TestBehind(t *testing.T) {
	slice := func(family discoveryv1.AddressType, port string, target int32, ready *bool, addresses ...string) *discoveryv1.EndpointSlice {
		return &discoveryv1.EndpointSlice{
			AddressType: family,
			Ports:       []discoveryv1.EndpointPort{{Name: &port, Port: &target}},
			Endpoints: []discoveryv1.Endpoint{{
				Addresses: addresses, Conditions: discoveryv1.EndpointConditions{Ready: ready}, TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: "shop", Name: "a"},
			}},
		}
	}
	unnamed := slice(discoveryv1.AddressTypeIPv4, "", 9443, nil, "10.1.0.1")
	unnamed.Ports[0].Name = nil
	udp := slice(discoveryv1.AddressTypeIPv4, "https", 9443, nil, "10.1.0.1")
	udp.Ports[0].Protocol = new(corev1.ProtocolUDP)
	for name, test := range map[string]struct {
		port   int32
		slices []*discoveryv1.EndpointSlice
		want   Backend
		ready  []string
	}{
		"a ready endpoint":           {443, []*discoveryv1.EndpointSlice{slice(discoveryv1.AddressTypeIPv4, "https", 9443, nil, "10.1.0.1")}, Backend{Port: true, Target: true}, []string{"10.1.0.1:9443"}},
		"two slices, and one twice":  {443, []*discoveryv1.EndpointSlice{slice(discoveryv1.AddressTypeIPv4, "https", 9443, new(true), "10.1.0.2", "10.1.0.1"), slice(discoveryv1.AddressTypeIPv4, "https", 9443, nil, "10.1.0.1")}, Backend{Port: true, Target: true}, []string{"10.1.0.1:9443", "10.1.0.2:9443"}},
		"an endpoint not ready":      {443, []*discoveryv1.EndpointSlice{slice(discoveryv1.AddressTypeIPv4, "https", 9443, new(false), "10.1.0.1")}, Backend{Port: true, Target: true}, nil},
		"another port of the pods":   {443, []*discoveryv1.EndpointSlice{slice(discoveryv1.AddressTypeIPv4, "metrics", 8080, nil, "10.1.0.1")}, Backend{Port: true}, nil},
		"another family":             {443, []*discoveryv1.EndpointSlice{slice(discoveryv1.AddressTypeIPv6, "https", 9443, nil, "fd00::1")}, Backend{Port: true}, nil},
		"no such port":               {8444, []*discoveryv1.EndpointSlice{slice(discoveryv1.AddressTypeIPv4, "https", 9443, nil, "10.1.0.1")}, Backend{}, nil},
		"no slices":                  {443, nil, Backend{Port: true}, nil},
		"a port that has no name":    {80, []*discoveryv1.EndpointSlice{unnamed}, Backend{Port: true, Target: true}, []string{"10.1.0.1:9443"}},
		"a UDP port of that name":    {443, []*discoveryv1.EndpointSlice{udp}, Backend{Port: true}, nil},
		"a UDP port of the Service":  {8443, []*discoveryv1.EndpointSlice{slice(discoveryv1.AddressTypeIPv4, "h3", 9443, nil, "10.1.0.1")}, Backend{}, nil},
		"one whose name is not that": {443, []*discoveryv1.EndpointSlice{unnamed}, Backend{Port: true}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			service := &corev1.Service{Spec: corev1.ServiceSpec{
				IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol},
				Ports: []corev1.ServicePort{
					{Name: "h3", Port: 443, Protocol: corev1.ProtocolUDP}, {Name: "https", Port: 443, TargetPort: intstr.FromString("https")}, {Port: 80},
					{Name: "h3", Port: 8443, Protocol: corev1.ProtocolUDP},
				},
			}}
			got := Behind(service, test.port, test.slices)
			ready := lists.Map(got.Ready, Endpoint.Address)
			got.Ready = nil
			installtest.Same(t, "behind the port", test.want, got)
			installtest.Same(t, "ready behind the port", test.ready, ready)
		})
	}
}

// Pods are found for any port of an EndpointSlice.
func TestPods(t *testing.T) {
	slice := func(family discoveryv1.AddressType, ready bool, ports []discoveryv1.EndpointPort, addresses ...string) *discoveryv1.EndpointSlice {
		return &discoveryv1.EndpointSlice{AddressType: family, Ports: ports, Endpoints: []discoveryv1.Endpoint{{Addresses: addresses, Conditions: discoveryv1.EndpointConditions{Ready: &ready}}}}
	}
	service := &corev1.Service{Spec: corev1.ServiceSpec{IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol}}}
	got := Pods(service, []*discoveryv1.EndpointSlice{
		slice(discoveryv1.AddressTypeIPv4, true, nil, "10.1.0.2"),
		slice(discoveryv1.AddressTypeIPv4, true, []discoveryv1.EndpointPort{{Port: new(int32(443))}}, "10.1.0.1", "10.1.0.2"),
		slice(discoveryv1.AddressTypeIPv4, false, nil, "10.1.0.3"),
		slice(discoveryv1.AddressTypeIPv6, true, nil, "fd00::1"),
	})
	installtest.Same(t, "ready pods", []Endpoint{{IP: "10.1.0.1"}, {IP: "10.1.0.2"}}, got)
}
