package rollout

import (
	"cmp"
	"fmt"
	"net"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install"
)

const reasonNoEndpoints = "NoReadyEndpoints"

// endpoints are all addresses on which API servers may call a webhook: the Service's
// own, and each ready endpoint behind it. A reason says why there is none.
func (p *planner) endpoints(d install.Deployment, w install.Webhook) (all []Endpoint, reason, message string) {
	service := p.Observed.Services[d.Service.Name]
	if reason, message := p.refused(KeyOf(d.Service)); service == nil && reason != "" {
		return nil, reason, message
	}
	if service == nil {
		return nil, "ServiceMissing", fmt.Sprintf("service %s is being created", d.Service.Name)
	}
	trust := ""
	if w.Delegated {
		trust = p.injectedInto(w)
	}
	server := fmt.Sprintf("%s.%s.svc", service.Name, service.Namespace)
	portName := strconv.Itoa(int(w.Port))
	namedPort := false
	for _, slice := range p.Observed.Slices[service.Name] {
		port := portNamed(slice, portName)
		if port == 0 || !called(service, slice) {
			continue
		}
		namedPort = true
		for _, e := range slice.Endpoints {
			if e.Conditions.Ready != nil && !*e.Conditions.Ready {
				continue
			}
			for _, address := range e.Addresses {
				all = append(all, Endpoint{Address: hostPort(address, port), ServerName: server, What: whatIs(e, address), Deployment: d.Object.Name, Service: service.Name, Port: w.Port, Trust: trust})
			}
		}
	}
	if len(all) == 0 {
		reason, message = p.noEndpoints(d.Object.Name, service, portName, namedPort)
		return nil, reason, message
	}
	slices.SortFunc(all, func(a, b Endpoint) int { return cmp.Compare(a.Address, b.Address) })
	if ip := service.Spec.ClusterIP; ip != "" && ip != corev1.ClusterIPNone {
		all = append(all, Endpoint{
			Address: hostPort(ip, w.Port), ServerName: server, Deployment: d.Object.Name, Service: service.Name, Port: w.Port, Trust: trust, Virtual: true,
			What: fmt.Sprintf("service %s/%s", service.Namespace, service.Name),
		})
	}
	return all, "", ""
}

// noEndpoints says why there is none.
func (p *planner) noEndpoints(deployment string, service *corev1.Service, portName string, namedPort bool) (reason, message string) {
	for _, port := range service.Spec.Ports {
		if port.Name == portName && port.TargetPort.StrVal != "" && !namedPort && len(p.Observed.Pods[deployment]) > 0 {
			return "NoSuchPort", fmt.Sprintf("no container names a port %q, which is the targetPort of service %s: correct targetPort in spec.webhookdefinitions, or name the port of the container",
				port.TargetPort.StrVal, service.Name)
		}
	}
	message = fmt.Sprintf("service %s has no ready endpoint", service.Name)
	if d := p.Observed.Deployments[deployment]; d != nil && d.Spec.Replicas != nil && *d.Spec.Replicas == 0 {
		message += fmt.Sprintf(": deployment %s is scaled to 0; to bring it back: kubectl -n %s scale deployment %s --replicas=1", d.Name, d.Namespace, d.Name)
	}
	return reasonNoEndpoints, message
}

// called tells whether API servers call what is in the slice. They call a Service at its
// first address, so of a dual-stack one the endpoints of that address's family.
func called(service *corev1.Service, slice *discoveryv1.EndpointSlice) bool {
	families := service.Spec.IPFamilies
	return len(families) == 0 || string(families[0]) == string(slice.AddressType)
}

func portNamed(slice *discoveryv1.EndpointSlice, name string) int32 {
	for _, port := range slice.Ports {
		if port.Name != nil && *port.Name == name && port.Port != nil {
			return *port.Port
		}
	}
	return 0
}

func hostPort(host string, port int32) string {
	return net.JoinHostPort(host, strconv.Itoa(int(port)))
}

func whatIs(e discoveryv1.Endpoint, address string) string {
	if e.TargetRef == nil {
		return "endpoint " + address
	}
	return fmt.Sprintf("pod %s/%s", e.TargetRef.Namespace, e.TargetRef.Name)
}
