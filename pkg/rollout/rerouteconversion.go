package rollout

import (
	"cmp"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// rerouteConversions decides about live conversions whose description names another port or path
// than before, as reroute does about the other webhooks.
func (p *planner) rerouteConversions(d install.Deployment, w install.Webhook, backend progress) (view webhookView, decided bool) {
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
		was := conversionRoute(p.Observed.CRDs[w.Conversions[i].CRD].Spec.Conversion)
		message, called.Port = was.until(conversionRoute(&w.Conversions[i].Spec))+": "+message, was.port
	}
	p.wantConversions(p.asRouted(w.Conversions))
	since := p.sinceOf(w.Description, managerv1alpha1.WebhookRegistered)
	view = p.reachability(d, called, "", wholeSecond(since), backend)
	view.Webhook = w
	return moving(view, cmp.Or(held.reason, reason), cmp.Or(held.message, message)), true
}

// asRouted are conversions with the ports and paths that API servers call now, where the
// description names others than before.
func (p *planner) asRouted(conversions []install.Conversion) []install.Conversion {
	routed := slices.Clone(conversions)
	for i, c := range routed {
		if p.routeEdited(c) {
			route := conversionRoute(p.Observed.CRDs[c.CRD].Spec.Conversion)
			routed[i].Spec = *c.Spec.DeepCopy()
			service := routed[i].Spec.Webhook.ClientConfig.Service
			service.Port, service.Path = &route.port, &route.path
		}
	}
	return routed
}

// routeEdited reports whether a definition is converted by the Service of a conversion at another
// port or path, which the manager wrote. One that another client wrote is repaired at once.
func (p *planner) routeEdited(c install.Conversion) bool {
	live := p.Observed.CRDs[c.CRD]
	if live == nil || !converted(live, c) {
		return false
	}
	is, desired := conversionRoute(live.Spec.Conversion), conversionRoute(&c.Spec)
	edited := fieldpath.NewSet()
	if is.path != desired.path {
		edited = edited.Union(conversionPathField)
	}
	if is.port != desired.port {
		edited = edited.Union(conversionPortField)
	}
	return is != desired && drift.SoleOwner(live, edited)
}

var (
	conversionPathField = conversionField("path")
	conversionPortField = conversionField("port")
)

func conversionField(name string) *fieldpath.Set {
	return fieldpath.NewSet(fieldpath.MakePathOrDie("spec", "conversion", "webhook", "clientConfig", "service", name))
}

// conversionRoute is the port and path that a conversion calls.
func conversionRoute(c *apiextensionsv1.CustomResourceConversion) calledRoute {
	route := calledRoute{port: defaultPort}
	if c == nil || c.Webhook == nil || c.Webhook.ClientConfig == nil || c.Webhook.ClientConfig.Service == nil {
		return route
	}
	service := c.Webhook.ClientConfig.Service
	if service.Port != nil {
		route.port = *service.Port
	}
	if service.Path != nil {
		route.path = *service.Path
	}
	return route
}
