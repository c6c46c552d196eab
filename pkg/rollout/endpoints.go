package rollout

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/reviews"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/backends"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/conversion"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/registration"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/workload"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/route"
)

// notCallable explains why API servers do not call the pods of a Service without a cluster IP.
func notCallable(service *corev1.Service, by route.By) string {
	cause := "is headless: API servers call the cluster IP of a Service, unless they run with --enable-aggregator-routing"
	if by == route.ByExternalName {
		cause = fmt.Sprintf("is of type ExternalName: API servers call %s, not the pods", service.Spec.ExternalName)
	}
	return fmt.Sprintf("service %s %s. Delete it, and the manager creates it with a cluster IP: kubectl -n %s delete service %[1]s", service.Name, cause, service.Namespace)
}

// nodeLocal explains which API servers cannot call a Service.
func nodeLocal(service *corev1.Service) string {
	return fmt.Sprintf(`internalTrafficPolicy of service %s is Local: API servers on nodes without an endpoint of it cannot call it: kubectl -n %s patch service %[1]s -p '{"spec":{"internalTrafficPolicy":"Cluster"}}'`,
		service.Name, service.Namespace)
}

// endpointsOf returns the address of the Service and each ready endpoint, or the reason why there is none.
func (q *probes) endpointsOf(d render.Deployment, w render.Webhook) (all []backends.Endpoint, reason, message string) {
	service := q.Observed.Services[d.Service.Name]
	if reason, message := q.refused(drift.KeyOf(d.Service)); service == nil && reason != "" {
		return nil, reason, message
	}
	if service == nil {
		return nil, managerv1alpha1.ReasonServiceMissing, fmt.Sprintf("service %s is being created", d.Service.Name)
	}
	trust := q.injectedInto(w)
	if by := route.Of(service); by != route.ByClusterIP {
		return nil, managerv1alpha1.ReasonServiceNotCallable, notCallable(service, by)
	}
	server := fmt.Sprintf("%s.%s.svc", service.Name, service.Namespace)
	behind := route.Behind(service, w.Port, q.Observed.Slices[service.Name])
	if len(behind.Ready) == 0 {
		reason, message = q.noEndpoints(d.Object.Name, service, w.Port, behind)
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

func (q *probes) noEndpoints(deployment string, service *corev1.Service, number int32, behind route.Backend) (reason, message string) {
	if !behind.Port {
		return managerv1alpha1.ReasonPortMissing, fmt.Sprintf("service %s has no port %d", service.Name, number)
	}
	for _, port := range service.Spec.Ports {
		if port.Port == number && port.TargetPort.StrVal != "" && !behind.Target && len(q.Observed.Pods[deployment]) > 0 {
			return managerv1alpha1.ReasonNoSuchPort, fmt.Sprintf("no container names a port %q, which is the targetPort of service %s: correct targetPort in spec.webhookdefinitions, or name the port of the container",
				port.TargetPort.StrVal, service.Name)
		}
	}
	message = fmt.Sprintf("service %s has no ready endpoint", service.Name)
	if d := q.Observed.Deployments[deployment]; d != nil && d.Spec.Replicas != nil && *d.Spec.Replicas == 0 {
		message += fmt.Sprintf(": deployment %s is scaled to 0; to bring it back: kubectl -n %s scale deployment %s --replicas=1", d.Name, d.Namespace, d.Name)
	}
	return managerv1alpha1.ReasonNoReadyEndpoints, message
}

// endpointsAt returns the ready endpoints of a Service at the port of the pods that to leads to.
func (q *probes) endpointsAt(d render.Deployment, w render.Webhook, to corev1.ServicePort) (all []backends.Endpoint, reason, message string) {
	trust := q.injectedInto(w)
	service := q.Observed.Services[d.Service.Name]
	for _, e := range route.Pods(service, q.Observed.Slices[service.Name]) {
		e.Port = backends.TargetOf(to, q.podOf(d, e))
		if e.Port == 0 {
			return nil, managerv1alpha1.ReasonNoSuchPort, fmt.Sprintf("no container of %s names a port %q", e, to.TargetPort.StrVal)
		}
		all = append(all, backends.Endpoint{
			Address: e.Address(), ServerName: fmt.Sprintf("%s.%s.svc", service.Name, service.Namespace), What: e.String(), Deployment: d.Object.Name,
			Service: service.Name, Port: to.Port, Trust: trust, Review: reviews.For(q.CSV, w.Description, q.Observed.Catalog),
		})
	}
	if len(all) == 0 {
		return nil, managerv1alpha1.ReasonNoReadyEndpoints, fmt.Sprintf("service %s has no ready endpoint", service.Name)
	}
	return all, "", ""
}

// podOf uses the template of the Deployment for a pod that is not observed.
func (q *probes) podOf(d render.Deployment, e route.Endpoint) *corev1.Pod {
	pods := q.Observed.Pods[d.Object.Name]
	if i := slices.IndexFunc(pods, func(pod *corev1.Pod) bool { return e.Ref != nil && e.Ref.Name == pod.Name }); i >= 0 {
		return pods[i]
	}
	return &corev1.Pod{Spec: d.Object.Spec.Template.Spec}
}

// injectedInto is empty if the manager writes the caBundle. The first definition of a conversion counts.
func (q *probes) injectedInto(w render.Webhook) string {
	switch {
	case !w.Delegated:
		return ""
	case w.Registration != nil:
		return string(registration.BundleOf(w.Registration))
	}
	for _, c := range w.Conversions {
		return string(conversion.WithLiveBundle(c, q.Observed.CRDs[c.CRD]).Spec.Webhook.ClientConfig.CABundle)
	}
	return ""
}

// toProbe returns reviews, but none for a webhook that was in service at the same Service, port and path.
func (q *probes) toProbe(d render.Deployment, w render.Webhook) (all []backends.Endpoint, reason, message string) {
	all, reason, message = q.endpointsOf(d, w)
	if reason != "" || q.servedBefore(w) && !q.isCalledOtherwise(w) {
		return all, reason, message
	}
	review := reviews.For(q.CSV, w.Description, q.Observed.Catalog)
	for i := range all {
		if !all[i].Virtual {
			all[i].Review = review
		}
	}
	return all, "", ""
}

// probes evaluates what endpoints answered, and requests the missing ones.
type probes struct {
	*facts
	plan *planBuilder
}

// unanswered requests the missing answers, and retries after a pause.
func (q *probes) unanswered(endpoints []backends.Endpoint, pause time.Duration) (reason, message string) {
	for _, e := range endpoints {
		answer, asked := q.Observed.Answers[e]
		if !asked {
			q.plan.probe(e)
			reason, message = managerv1alpha1.ReasonProbing, "its endpoints are being dialled"
			continue
		}
		if !answer.Serves() {
			q.plan.requeue(q.now.Add(pause), "endpoints do not serve")
			return answer.Reason, answer.Message
		}
	}
	return reason, message
}

// probePause grows with the wait since the last progress: the cluster IP answers just after the endpoints.
func (q *probes) probePause(w render.Webhook, backend workload.Progress) time.Duration {
	const shortest, longest = 100 * time.Millisecond, 30 * time.Second
	since := workload.Later(backend.Since, q.sinceOf(w.Description, managerv1alpha1.WebhookWaiting))
	return min(max(q.now.Sub(since)/10, shortest), longest)
}

// undialled reports whether an endpoint of the webhook was tested through the API server only.
func (q *probes) undialled(d render.Deployment, w render.Webhook) bool {
	endpoints, _, _ := q.toProbe(d, w)
	return slices.ContainsFunc(endpoints, func(e backends.Endpoint) bool { return q.Observed.Answers[e].ThroughAPIServer })
}
