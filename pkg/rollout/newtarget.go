package rollout

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/reviews"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/backends"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/registration"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/route"
)

// unservedAt is why a webhook cannot be called yet at the port of the pods that a port of the
// Service is to lead to. All pods behind the Service are dialled there.
func (p *planner) unservedAt(d render.Deployment, w render.Webhook, to corev1.ServicePort) (reason, message string) {
	if w.Delegated && registration.Of(w) != nil {
		w = registration.WithLiveBundle(w, p.registered(w))
	}
	endpoints, reason, message := p.endpointsAt(d, w, to)
	if reason != "" {
		return reason, message
	}
	p.askToCompare(d, w)
	return p.unanswered(endpoints, p.probePause(w, p.progressOf(d)))
}

// askToCompare has the pods dialled where they are called now. If the manager reaches them there, a
// new port that drops packets is not served. Otherwise the API server would be asked, which calls
// the previous port.
func (p *planner) askToCompare(d render.Deployment, w render.Webhook) {
	endpoints, _, _ := p.endpoints(d, w)
	for _, e := range endpoints {
		if _, asked := p.Observed.Answers[e]; !asked && !e.Virtual {
			p.ask(e)
		}
	}
}

// endpointsAt are the ready endpoints of a Deployment's Service, at the port of the pods that a
// port of the Service is to lead to.
func (p *planner) endpointsAt(d render.Deployment, w render.Webhook, to corev1.ServicePort) (all []backends.Endpoint, reason, message string) {
	trust := ""
	if w.Delegated {
		trust = p.injectedInto(w)
	}
	service := p.Observed.Services[d.Service.Name]
	for _, e := range route.Pods(service, p.Observed.Slices[service.Name]) {
		e.Port = backends.TargetOf(to, p.podOf(d, e))
		if e.Port == 0 {
			return nil, "NoSuchPort", fmt.Sprintf("no container of %s names a port %q", e, to.TargetPort.StrVal)
		}
		all = append(all, backends.Endpoint{
			Address: e.Address(), ServerName: fmt.Sprintf("%s.%s.svc", service.Name, service.Namespace), What: e.String(), Deployment: d.Object.Name,
			Service: service.Name, Port: to.Port, Trust: trust, Review: reviews.For(p.CSV, w.Description, p.Observed.Catalog),
		})
	}
	if len(all) == 0 {
		return nil, reasonNoEndpoints, fmt.Sprintf("service %s has no ready endpoint", service.Name)
	}
	return all, "", ""
}

// podOf is the pod behind an endpoint. One that is not observed is as the Deployment makes it.
func (p *planner) podOf(d render.Deployment, e route.Endpoint) *corev1.Pod {
	pods := p.Observed.Pods[d.Object.Name]
	if i := slices.IndexFunc(pods, func(pod *corev1.Pod) bool { return e.Ref != nil && e.Ref.Name == pod.Name }); i >= 0 {
		return pods[i]
	}
	return &corev1.Pod{Spec: d.Object.Spec.Template.Spec}
}
