// Package route decides where API servers send calls of a Service, as ResolveCluster in
// k8s.io/apiserver/pkg/util/proxy: to the first cluster IP or the external name. kube-proxy forwards to the
// ready endpoints.
package route

import (
	"cmp"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"
)

// By is how API servers call a Service.
type By string

const (
	// ByClusterIP is the first cluster IP of the Service.
	ByClusterIP By = "ClusterIP"
	// ByExternalName is the name of a Service of type ExternalName, at any port.
	ByExternalName By = "ExternalName"
	// ByEndpoint needs --enable-aggregator-routing: the Service is headless. Others refuse the call.
	ByEndpoint By = "Endpoint"
)

// Of returns how API servers call a Service.
func Of(service *corev1.Service) By {
	switch {
	case service.Spec.Type == corev1.ServiceTypeExternalName:
		return ByExternalName
	case service.Spec.ClusterIP == corev1.ClusterIPNone:
		return ByEndpoint
	default:
		return ByClusterIP
	}
}

// NodeLocal reports whether callers reach only the endpoints on their own node.
func NodeLocal(service *corev1.Service) bool {
	return ptr.Deref(service.Spec.InternalTrafficPolicy, "") == corev1.ServiceInternalTrafficPolicyLocal
}

// Endpoint is a ready endpoint of a Service, at one port.
type Endpoint struct {
	IP   string
	Port int32
	// Ref is the object behind the endpoint, most often a Pod; nil when the slice does not name one.
	Ref *corev1.ObjectReference
}

// Address is IP and port, as net.JoinHostPort joins them.
func (e Endpoint) Address() string { return net.JoinHostPort(e.IP, strconv.Itoa(int(e.Port))) }

// String names the endpoint in messages.
func (e Endpoint) String() string {
	if e.Ref == nil {
		return "endpoint " + e.IP
	}
	kind := "pod"
	if !e.IsPod() && e.Ref.Kind != "" {
		kind = e.Ref.Kind
	}
	return fmt.Sprintf("%s %s/%s", kind, e.Ref.Namespace, e.Ref.Name)
}

// IsPod reports whether a Pod is behind the endpoint.
func (e Endpoint) IsPod() bool { return e.Ref != nil && e.Ref.Kind == "Pod" }

// Backend is what is behind one port of a Service.
type Backend struct {
	// Port reports whether the Service has the port.
	Port bool
	// Target reports whether an EndpointSlice has it: a pod has a port by the targeted name.
	Target bool
	// Ready are the ready endpoints at that port, in the order of their addresses.
	Ready []Endpoint
}

// Behind returns what is behind a port of a Service. API servers use TCP, so other protocols do not count.
func Behind(service *corev1.Service, port int32, all []*discoveryv1.EndpointSlice) Backend {
	at := slices.IndexFunc(service.Spec.Ports, func(p corev1.ServicePort) bool {
		return p.Port == port && cmp.Or(p.Protocol, corev1.ProtocolTCP) == corev1.ProtocolTCP
	})
	if at < 0 {
		return Backend{}
	}
	backend := Backend{Port: true}
	for _, slice := range all {
		target := target(slice, service.Spec.Ports[at].Name)
		if target == 0 || !called(service, slice) {
			continue
		}
		backend.Target = true
		backend.Ready = append(backend.Ready, readyIn(slice, target)...)
	}
	slices.SortFunc(backend.Ready, func(a, b Endpoint) int { return strings.Compare(a.Address(), b.Address()) })
	backend.Ready = slices.CompactFunc(backend.Ready, func(a, b Endpoint) bool { return a.Address() == b.Address() })
	return backend
}

// Pods returns the ready endpoints for any port, each address once, in their order.
func Pods(service *corev1.Service, all []*discoveryv1.EndpointSlice) []Endpoint {
	var ready []Endpoint
	for _, slice := range all {
		if called(service, slice) {
			ready = append(ready, readyIn(slice, 0)...)
		}
	}
	slices.SortFunc(ready, func(a, b Endpoint) int { return strings.Compare(a.IP, b.IP) })
	return slices.CompactFunc(ready, func(a, b Endpoint) bool { return a.IP == b.IP })
}

func readyIn(slice *discoveryv1.EndpointSlice, port int32) []Endpoint {
	var ready []Endpoint
	for _, e := range slice.Endpoints {
		for _, ip := range e.Addresses {
			if Ready(e) {
				ready = append(ready, Endpoint{IP: ip, Port: port, Ref: e.TargetRef})
			}
		}
	}
	return ready
}

// Ready reports whether an endpoint accepts calls. An unknown condition counts as ready.
func Ready(e discoveryv1.Endpoint) bool { return e.Conditions.Ready == nil || *e.Conditions.Ready }

// API servers call the first cluster IP: of a dual-stack Service only the endpoints of that family.
func called(service *corev1.Service, slice *discoveryv1.EndpointSlice) bool {
	families := service.Spec.IPFamilies
	return len(families) == 0 || string(families[0]) == string(slice.AddressType)
}

// A Service of a single port need not name it. 0 for none.
func target(slice *discoveryv1.EndpointSlice, name string) int32 {
	for _, port := range slice.Ports {
		tcp := port.Protocol == nil || *port.Protocol == corev1.ProtocolTCP
		if port.Port != nil && tcp && ptr.Deref(port.Name, "") == name {
			return *port.Port
		}
	}
	return 0
}
