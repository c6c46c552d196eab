package rollout

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/backends"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/route"
)

const (
	reasonNoEndpoints = "NoReadyEndpoints"
	// reasonNotCallable is that of a Service without a cluster IP.
	reasonNotCallable = "ServiceNotCallable"
)

// endpoints are all addresses on which API servers may call a webhook: the Service's
// own, and each ready endpoint behind it. A reason says why there is none.
func (p *planner) endpoints(d render.Deployment, w render.Webhook) (all []backends.Endpoint, reason, message string) {
	service := p.Observed.Services[d.Service.Name]
	if reason, message := p.refused(drift.KeyOf(d.Service)); service == nil && reason != "" {
		return nil, reason, message
	}
	if service == nil {
		return nil, "ServiceMissing", fmt.Sprintf("service %s is being created", d.Service.Name)
	}
	trust := ""
	if w.Delegated {
		trust = p.injectedInto(w)
	}
	if by := route.Of(service); by != route.ByClusterIP {
		return nil, reasonNotCallable, notCallable(service, by)
	}
	server := fmt.Sprintf("%s.%s.svc", service.Name, service.Namespace)
	behind := route.Behind(service, w.Port, p.Observed.Slices[service.Name])
	if len(behind.Ready) == 0 {
		reason, message = p.noEndpoints(d.Object.Name, service, w.Port, behind)
		return nil, reason, message
	}
	for _, e := range behind.Ready {
		all = append(all, backends.Endpoint{Address: e.Address(), ServerName: server, What: e.String(), Deployment: d.Object.Name, Service: service.Name, Port: w.Port, Trust: trust})
	}
	if ip := service.Spec.ClusterIP; ip != "" {
		all = append(all, backends.Endpoint{
			Address: backends.HostPort(ip, w.Port), ServerName: server, Deployment: d.Object.Name, Service: service.Name, Port: w.Port, Trust: trust, Virtual: true,
			What: fmt.Sprintf("service %s/%s", service.Namespace, service.Name),
		})
	}
	return all, "", ""
}

// notCallable explains why API servers do not call the pods of a Service without a cluster IP.
func notCallable(service *corev1.Service, by route.By) string {
	cause := "is headless: API servers call the cluster IP of a Service, unless they run with --enable-aggregator-routing"
	if by == route.ByExternalName {
		cause = fmt.Sprintf("is of type ExternalName: API servers call %s, not the pods", service.Spec.ExternalName)
	}
	return fmt.Sprintf("service %s %s. Delete it, and the manager creates it with a cluster IP: kubectl -n %s delete service %[1]s", service.Name, cause, service.Namespace)
}

// noEndpoints explains why no endpoint of a port is ready.
func (p *planner) noEndpoints(deployment string, service *corev1.Service, number int32, behind route.Backend) (reason, message string) {
	if !behind.Port {
		return "PortMissing", fmt.Sprintf("service %s has no port %d", service.Name, number)
	}
	for _, port := range service.Spec.Ports {
		if port.Port == number && port.TargetPort.StrVal != "" && !behind.Target && len(p.Observed.Pods[deployment]) > 0 {
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
