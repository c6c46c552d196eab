package rollout

import (
	"cmp"
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/conversion"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/workload"
)

// rerouteConversions decides about live conversions whose description names another port or path
// than before, as reroute does about the other webhooks.
func (p *planner) rerouteConversions(d render.Deployment, w render.Webhook, backend workload.Progress) (view webhookView, decided bool) {
	i, held := slices.IndexFunc(w.Conversions, p.routeEdited), p.held(d, w)
	if p.Policy.Gate != GateServing || i < 0 && held.reason == "" {
		return webhookView{}, false
	}
	reason, message := p.obstacle(d, w, backend)
	if reason == "" {
		return webhookView{}, false
	}
	called := w
	if i >= 0 {
		was := conversion.RouteOf(p.Observed.CRDs[w.Conversions[i].CRD].Spec.Conversion)
		message, called.Port = was.Until(conversion.RouteOf(&w.Conversions[i].Spec))+": "+message, was.Port
	}
	p.wantConversions(p.asRouted(w.Conversions))
	since := p.sinceOf(w.Description, managerv1alpha1.WebhookRegistered)
	view = p.reachability(d, called, "", wholeSecond(since), backend)
	view.Webhook = w
	return moving(view, cmp.Or(held.reason, reason), cmp.Or(held.message, message)), true
}

// asRouted are conversions with the ports and paths that API servers call now, where the
// description names others than before.
func (p *planner) asRouted(conversions []render.Conversion) []render.Conversion {
	routed := slices.Clone(conversions)
	for i, c := range routed {
		if p.routeEdited(c) {
			route := conversion.RouteOf(p.Observed.CRDs[c.CRD].Spec.Conversion)
			routed[i].Spec = *c.Spec.DeepCopy()
			service := routed[i].Spec.Webhook.ClientConfig.Service
			service.Port, service.Path = &route.Port, &route.Path
		}
	}
	return routed
}

// routeEdited reports whether a definition is converted by the Service of a conversion at another
// port or path, which the manager wrote. One that another client wrote is repaired at once.
func (p *planner) routeEdited(c render.Conversion) bool {
	live := p.Observed.CRDs[c.CRD]
	if live == nil || !conversion.Calls(live, c) {
		return false
	}
	is, desired := conversion.RouteOf(live.Spec.Conversion), conversion.RouteOf(&c.Spec)
	edited := fieldpath.NewSet()
	if is.Path != desired.Path {
		edited = edited.Union(conversion.PathField)
	}
	if is.Port != desired.Port {
		edited = edited.Union(conversion.PortField)
	}
	return is != desired && drift.SoleOwner(live, edited)
}
