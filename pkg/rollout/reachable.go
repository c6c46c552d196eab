package rollout

import (
	"cmp"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/requirements"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/registration"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/workload"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/route"
)

// reachability keeps the webhook registered: otherwise requests would pass that it has to refuse.
func (r *registrar) reachability(d render.Deployment, w render.Webhook, configuration string, registered time.Time, backend workload.Progress) webhookView {
	view := webhookView{
		Webhook: w, configuration: configuration, registered: registered,
		state: managerv1alpha1.WebhookRegistered, reason: managerv1alpha1.ReasonServing,
	}
	if before := r.previousStatus(w.Description); before != nil && before.Reason == managerv1alpha1.ReasonProvedThroughAPIServer {
		view.reason, view.message = managerv1alpha1.ReasonProvedThroughAPIServer, undialledMessage
	}
	if service := r.Observed.Services[d.Service.Name]; service != nil && route.NodeLocal(service) && view.reason == managerv1alpha1.ReasonServing {
		view.reason, view.message = managerv1alpha1.ReasonNodeLocalService, nodeLocal(service)
	}
	reason, message := "", ""
	switch {
	case r.Policy.Gate == GateAvailable && !backend.Available:
		reason, message = managerv1alpha1.ReasonDeploymentNotAvailable, backend.Message
	case r.Policy.Gate == GateServing:
		_, reason, message = r.probes.endpointsOf(d, w)
	}
	if reason == managerv1alpha1.ReasonNoReadyEndpoints && backend.Message != "" {
		message += ": " + backend.Message
	}
	if reason != "" {
		view.state, view.reason, view.message = managerv1alpha1.WebhookUnreachable, reason, message
	}
	if registration.IsAPIService(w) {
		return r.availability(view)
	}
	return view
}

// availability returns the state of a live APIService. One that was never available still waits.
func (r *registrar) availability(view webhookView) webhookView {
	if reason, message := r.unavailable(view.Webhook); reason != "" && view.state == managerv1alpha1.WebhookRegistered {
		view.state, view.reason, view.message = managerv1alpha1.WebhookUnreachable, reason, message
	}
	if view.state == managerv1alpha1.WebhookUnreachable && !r.wasRegistered(view.Webhook) {
		view.state = managerv1alpha1.WebhookWaiting
	}
	return view
}

// unavailable is empty if API servers forward requests to the APIService.
func (r *registrar) unavailable(w render.Webhook) (reason, message string) {
	live, ok := r.liveRegistration(w.Description).(*apiregistrationv1.APIService)
	if !ok {
		return "", ""
	}
	for _, c := range live.Status.Conditions {
		if c.Type == apiregistrationv1.Available && c.Status == apiregistrationv1.ConditionTrue {
			return r.unserved(w)
		}
		if c.Type == apiregistrationv1.Available {
			return cmp.Or(c.Reason, managerv1alpha1.ReasonNotAvailable), c.Message
		}
	}
	return managerv1alpha1.ReasonNotAvailable, "the API server has not found out yet whether it answers"
}

// No watch reports a kind that is not served. Without an answer of discovery, a registered one counts as served.
func (r *registrar) unserved(w render.Webhook) (reason, message string) {
	for _, owned := range csvspec.OwnedKinds(r.CSV, w.Description.GenerateName) {
		kind := schema.GroupVersionKind{Group: owned.Group, Version: owned.Version, Kind: owned.Kind}
		group := kind.GroupVersion()
		served, asked := r.Observed.ServedKinds[kind]
		if served || !asked {
			continue
		}
		r.plan.requeue(r.now.Add(requirements.DiscoveryInterval(r.Observed.Announced[group], r.now)), "discovery of an API group")
		switch {
		case !r.Observed.Undiscovered[group]:
			return managerv1alpha1.ReasonKindNotServed, fmt.Sprintf("deployment %s serves the version and not the kind %s: let it, or correct spec.apiservicedefinitions.owned", w.Description.DeploymentName, owned.Kind)
		case !r.wasRegistered(w):
			return managerv1alpha1.ReasonDiscoveryNotAnswered, requirements.NotDiscovered(group)
		}
	}
	return "", ""
}

// Nothing is rendered for a blocked ClusterServiceVersion.
func backendOf(live drift.Object, d operatorsv1alpha1.WebhookDescription) render.Deployment {
	backend := render.Deployment{Object: &appsv1.Deployment{}, Service: &corev1.Service{}}
	backend.Object.Name = d.DeploymentName
	if called := registration.ServiceOf(live); called != nil {
		backend.Service.Namespace, backend.Service.Name = called.Namespace, called.Name
	}
	return backend
}
