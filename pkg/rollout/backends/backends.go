// Package backends lists the pods and endpoints that API servers may call through a Service.
package backends

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/groupkind"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/reviews"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/route"
)

// Backend is a pod or endpoint that API servers may call through a Service, now or soon.
type Backend struct {
	What string      // for messages: "pod shop/manager-0"
	Pod  *corev1.Pod // nil for an endpoint without a pod
	// Endpoints are its addresses, one for each port. Without any, Message is the reason.
	Endpoints []Endpoint
	Message   string
}

// ProbedService has the ports that API servers call (see keepPorts), and the IP families of the live one. Nil for none.
func ProbedService(desired, live *corev1.Service) *corev1.Service {
	if live == nil {
		return desired
	}
	record := KeptPortsOf(live)
	if desired == nil && record.Empty() {
		return live
	}
	asked := cmp.Or(desired, live).DeepCopy()
	asked.Spec.IPFamilies = live.Spec.IPFamilies
	asked.Spec.Ports = record.called(asked.Spec.Ports)
	return asked
}

// PodSelectors returns distinct selectors. A Service without a selector selects no pods.
func PodSelectors(asked, live *corev1.Service, deployment *appsv1.Deployment) []string {
	var all []string
	for _, service := range []*corev1.Service{asked, live} {
		if service != nil && len(service.Spec.Selector) > 0 {
			all = append(all, labels.SelectorFromSet(service.Spec.Selector).String())
		}
	}
	if deployment != nil {
		if selector, err := metav1.LabelSelectorAsSelector(deployment.Spec.Selector); err == nil && !selector.Empty() {
			all = append(all, selector.String())
		}
	}
	return lists.Distinct(all)
}

// SameTargets reports whether two Services lead to the same pods and the same ports.
func SameTargets(a, b *corev1.Service) bool {
	return maps.Equal(a.Spec.Selector, b.Spec.Selector) && slices.EqualFunc(byNumber(a.Spec.Ports), byNumber(b.Spec.Ports), func(p, q corev1.ServicePort) bool {
		return p.Port == q.Port && Target(p) == Target(q)
	})
}

func byNumber(ports []corev1.ServicePort) []corev1.ServicePort {
	return slices.SortedFunc(slices.Values(ports), func(a, b corev1.ServicePort) int { return cmp.Compare(a.Port, b.Port) })
}

// Target returns the target of a port of a Service, with its default.
func Target(p corev1.ServicePort) intstr.IntOrString {
	if p.TargetPort == (intstr.IntOrString{}) {
		return intstr.FromInt32(p.Port)
	}
	return p.TargetPort
}

// Of returns non-terminal pods and other endpoints that serve or terminate. A pod counts in any state, because it
// may have read its files. One of the Deployment counts even if no port matches: it cannot be dialled.
func Of(service *corev1.Service, pods []*corev1.Pod, endpoints []*discoveryv1.EndpointSlice, deployment string) []Backend {
	server := fmt.Sprintf("%s.%s.svc", service.Name, service.Namespace)
	var all []Backend
	known := map[string]bool{}
	for _, pod := range pods {
		b := backendOfPod(service, pod)
		if len(b.Endpoints) == 0 && b.Message == "" && isOf(pod, deployment) {
			b.Message = fmt.Sprintf("%s has no port that Service %s/%s leads to", b.What, service.Namespace, service.Name)
		}
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
					what := route.Endpoint{IP: address, Ref: e.TargetRef}.String()
					all = append(all, Backend{What: what, Endpoints: []Endpoint{{Address: address, ServerName: server, What: what, Deployment: deployment}}})
				}
			}
		}
	}
	return all
}

func isOf(pod *corev1.Pod, deployment string) bool {
	owner := metav1.GetControllerOf(pod)
	return owner != nil && groupkind.IsOwner(*owner, groupkind.ReplicaSet) && owner.Name == deployment+"-"+pod.Labels[appsv1.DefaultDeploymentUniqueLabelKey]
}

func ended(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// A terminating endpoint gets requests that were sent before.
func mayBeCalled(e discoveryv1.Endpoint) bool {
	return ptr.Deref(e.Conditions.Ready, true) || ptr.Deref(e.Conditions.Serving, false) || ptr.Deref(e.Conditions.Terminating, false)
}

func addressesIn(slice *discoveryv1.EndpointSlice, e discoveryv1.Endpoint) []string {
	var all []string
	for _, port := range slice.Ports {
		for _, ip := range e.Addresses {
			if port.Port != nil {
				all = append(all, HostPort(ip, *port.Port))
			}
		}
	}
	return all
}

// backendOfPod reads the addresses of a pod from its status, because EndpointSlices can be late.
func backendOfPod(service *corev1.Service, pod *corev1.Pod) Backend {
	b := Backend{What: fmt.Sprintf("pod %s/%s", pod.Namespace, pod.Name), Pod: pod}
	for _, port := range service.Spec.Ports {
		number := TargetOf(port, pod)
		if number == 0 {
			continue
		}
		ips := addressesOf(service, pod)
		if len(ips) == 0 {
			b.Message = b.What + " has no address yet"
		}
		for _, ip := range ips {
			b.Endpoints = append(b.Endpoints, Endpoint{Address: HostPort(ip, number), What: b.What})
		}
	}
	return b
}

// TargetOf returns the number of the pod's port behind a port of the Service; 0 for none.
func TargetOf(port corev1.ServicePort, pod *corev1.Pod) int32 {
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

// addressesOf returns the addresses of a pod in the IP families of the Service.
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

// HostPort returns the address to dial.
func HostPort(host string, port int32) string {
	return net.JoinHostPort(host, strconv.Itoa(int(port)))
}

// Endpoint is an address at which a webhook must answer.
type Endpoint struct {
	Address    string // host:port
	ServerName string // in the certificate
	What       string // for messages: "pod ns/name", "service ns/name"
	Deployment string
	Trust      string // the injected caBundle that applies instead, PEM
	Service    string
	Port       int32 // of the Service
	Virtual    bool  // the cluster IP of the Service

	Review reviews.Request // to send after the handshake; the zero value sends nothing
}

// Answer is the result of dialling an endpoint. Reason and Message are empty if it serves.
type Answer struct {
	Reason  string
	Message string
	// ThroughAPIServer is set if the manager cannot dial the endpoints.
	ThroughAPIServer bool
}

// Serves reports whether the endpoint serves.
func (a Answer) Serves() bool { return a.Reason == "" }
