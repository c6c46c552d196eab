package rollout

import (
	"fmt"
	"net"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Backend is somebody whom API servers may reach through a Service, now or soon.
type Backend struct {
	What string      // for people: "pod shop/manager-0"
	Pod  *corev1.Pod // nil for an endpoint that is none of the pods
	// Endpoints are where it may be called, one for each port. It cannot be dialled while
	// there is none, and Message says why.
	Endpoints []Endpoint
	Message   string
}

// Backends are every non-terminal pod behind a Service, and every other endpoint of it
// that serves or terminates: API servers may hold on to one for a while. A pod counts
// whatever its state: it may have read its files already.
func Backends(service *corev1.Service, pods []*corev1.Pod, endpoints []*discoveryv1.EndpointSlice, deployment string) []Backend {
	server := fmt.Sprintf("%s.%s.svc", service.Name, service.Namespace)
	var all []Backend
	known := map[string]bool{}
	for _, pod := range pods {
		b := backendOfPod(service, pod)
		for i := range b.Endpoints {
			b.Endpoints[i].ServerName, b.Endpoints[i].Deployment = server, deployment
			known[b.Endpoints[i].Address] = true
		}
		if !ended(pod) && (len(b.Endpoints) > 0 || b.Message != "") {
			all = append(all, b)
		}
	}
	for _, slice := range endpoints {
		for _, e := range slice.Endpoints {
			if !mayBeCalled(e) {
				continue
			}
			for _, address := range addressesIn(slice, e) {
				if !known[address] {
					known[address] = true
					what := whatIs(e, address)
					all = append(all, Backend{What: what, Endpoints: []Endpoint{{Address: address, ServerName: server, What: what, Deployment: deployment}}})
				}
			}
		}
	}
	return all
}

func ended(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// mayBeCalled tells whether traffic may go to an endpoint: a terminating one gets what
// was on its way.
func mayBeCalled(e discoveryv1.Endpoint) bool {
	is := func(condition *bool) bool { return condition != nil && *condition }
	return e.Conditions.Ready == nil || is(e.Conditions.Ready) || is(e.Conditions.Serving) || is(e.Conditions.Terminating)
}

func addressesIn(slice *discoveryv1.EndpointSlice, e discoveryv1.Endpoint) []string {
	var all []string
	for _, port := range slice.Ports {
		for _, ip := range e.Addresses {
			if port.Port != nil {
				all = append(all, hostPort(ip, *port.Port))
			}
		}
	}
	return all
}

// backendOfPod finds a pod's addresses in what it says itself: the slices may be late.
func backendOfPod(service *corev1.Service, pod *corev1.Pod) Backend {
	b := Backend{What: fmt.Sprintf("pod %s/%s", pod.Namespace, pod.Name), Pod: pod}
	for _, port := range service.Spec.Ports {
		number := targetOf(port, pod)
		if number == 0 {
			continue // nobody reaches it there
		}
		ips := addressesOf(service, pod)
		if len(ips) == 0 {
			b.Message = b.What + " has no address yet"
		}
		for _, ip := range ips {
			b.Endpoints = append(b.Endpoints, Endpoint{Address: hostPort(ip, number), What: b.What})
		}
	}
	return b
}

// targetOf is the number of the pod's port behind a port of the Service; 0 when it has none.
func targetOf(port corev1.ServicePort, pod *corev1.Pod) int32 {
	if port.TargetPort.Type == intstr.Int {
		if port.TargetPort.IntVal == 0 {
			return port.Port
		}
		return port.TargetPort.IntVal
	}
	for _, container := range slices.Concat(pod.Spec.Containers, pod.Spec.InitContainers) {
		for _, p := range container.Ports {
			if p.Name == port.TargetPort.StrVal {
				return p.ContainerPort
			}
		}
	}
	return 0
}

// addressesOf are the pod's addresses of the families that the Service has.
func addressesOf(service *corev1.Service, pod *corev1.Pod) []string {
	var all []string
	for _, ip := range pod.Status.PodIPs {
		parsed := net.ParseIP(ip.IP)
		family := corev1.IPv6Protocol
		if parsed.To4() != nil {
			family = corev1.IPv4Protocol
		}
		if parsed != nil && (len(service.Spec.IPFamilies) == 0 || slices.Contains(service.Spec.IPFamilies, family)) {
			all = append(all, ip.IP)
		}
	}
	return all
}
