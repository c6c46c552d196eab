package rollout

import (
	"fmt"

	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/vocabulary"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// calledRoute is the port of the Service and the path that a registration calls.
type calledRoute struct {
	port int32
	path string
}

func routeOf(o drift.Object) calledRoute { return calledRoute{portCalled(o), pathOf(o)} }

// until says that API servers call one route until another one is served.
func (r calledRoute) until(other calledRoute) string {
	switch {
	case r.port == other.port:
		return fmt.Sprintf("path %q is called until %q is served", r.path, other.path)
	case r.path == other.path:
		return fmt.Sprintf("port %d is called until %d is served", r.port, other.port)
	default:
		return fmt.Sprintf("path %q at port %d is called until %q at port %d is served", r.path, r.port, other.path, other.port)
	}
}

// reroute decides about a live webhook whose description names another port or path than before.
// API servers call the previous one until the new one is served: one that is not would refuse
// every request. A port or path that another client wrote into the registration is repaired at once.
func (p *planner) reroute(d install.Deployment, w install.Webhook, live drift.Object, backend progress) (view webhookView, decided bool) {
	desired, held := registrationOf(w), p.held(d, w)
	edited := routeOf(desired) != routeOf(live) || held.reason != ""
	if p.Policy.Gate != GateServing || !edited || hashLabelOf(desired) == hashLabelOf(live) {
		return webhookView{}, false
	}
	reason, message := p.obstacle(d, w, backend)
	if reason == "" {
		return webhookView{}, false
	}
	p.keep(alongRoute(desired, live), live)
	called := w
	called.Port = portCalled(live)
	view = p.reachability(d, called, live.GetName(), p.handedOver(w, p.bornAt(live)), backend)
	view.Webhook = w
	if held.reason != "" {
		return moving(view, held.reason, held.message), true
	}
	return moving(view, reason, routeOf(live).until(routeOf(desired))+": "+message), true
}

// pathOf is the path that a registration calls.
func pathOf(o drift.Object) string {
	if service := serviceOf(o); service != nil && service.Path != nil {
		return *service.Path
	}
	return ""
}

func hashLabelOf(o drift.Object) string { return o.GetLabels()[vocabulary.LabelWebhookHash] }

// alongRoute is a desired registration that calls the port and path of the live one, and still
// bears the label of the description that named them.
func alongRoute(desired, live drift.Object) drift.Object {
	kept, route := desired.DeepCopyObject().(drift.Object), routeOf(live)
	if service := serviceOf(kept); service != nil && service.Path != nil {
		service.Path = &route.path
	}
	setPort(kept, route.port)
	labels := kept.GetLabels()
	labels[vocabulary.LabelWebhookHash] = hashLabelOf(live)
	kept.SetLabels(labels)
	return kept
}

// setPort makes a registration call a port of its Service.
func setPort(o drift.Object, port int32) {
	if api, ok := o.(*apiregistrationv1.APIService); ok && api.Spec.Service != nil {
		api.Spec.Service.Port = &port
	} else if service := serviceOf(o); service != nil {
		service.Port = &port
	}
}
