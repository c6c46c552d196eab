package rollout

import (
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/registration"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/workload"
)

// reroute decides about a live webhook whose description names another port or path than before.
// API servers call the previous one until the new one is served: one that is not would refuse
// every request. A port or path that another client wrote into the registration is repaired at once.
func (p *planner) reroute(d render.Deployment, w render.Webhook, live drift.Object, backend workload.Progress) (view webhookView, decided bool) {
	desired, held := registration.Of(w), p.held(d, w)
	edited := registration.RouteOf(desired) != registration.RouteOf(live) || held.reason != ""
	if p.Policy.Gate != GateServing || !edited || registration.DescriptionHash(desired) == registration.DescriptionHash(live) {
		return webhookView{}, false
	}
	reason, message := p.obstacle(d, w, backend)
	if reason == "" {
		return webhookView{}, false
	}
	p.keep(registration.WithLiveRoute(desired, live), live)
	called := w
	called.Port = registration.PortCalled(live)
	view = p.reachability(d, called, live.GetName(), p.handedOver(w, p.bornAt(live)), backend)
	view.Webhook = w
	if held.reason != "" {
		return moving(view, held.reason, held.message), true
	}
	return moving(view, reason, registration.RouteOf(live).Until(registration.RouteOf(desired))+": "+message), true
}
