package rollout

import (
	"cmp"
	"fmt"
	"slices"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/conversion"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/workload"
)

// registerConversion returns the state of a conversion webhook, which is registered if each definition names its Service.
func (r *registrar) registerConversion(d render.Deployment, w render.Webhook, backend workload.Progress) webhookView {
	view := r.conversionView(d, w, backend)
	view.gap = r.gapOf(w.Description)
	return view
}

func (r *registrar) conversionView(d render.Deployment, w render.Webhook, backend workload.Progress) webhookView {
	c := r.candidateFor(d, w, backend)
	if view, blocked := c.firstBlocking(writeChecks); blocked {
		return view
	}
	if missing := r.unconverted(w); len(missing) > 0 {
		if blocking, blocked := c.firstBlocking(callChecks); blocked {
			if len(r.Upgrade.From) == 0 && len(r.withoutConversion(w.Description)) == 0 && slices.ContainsFunc(missing, r.notNamed) {
				since := r.sinceOf(w.Description, managerv1alpha1.WebhookRegistered)
				return moving(webhookView{Webhook: w, state: managerv1alpha1.WebhookRegistered, registered: since}, blocking.reason,
					fmt.Sprintf("another Deployment converts until deployment %s does: %s", d.Object.Name, blocking.message))
			}
			return blocking
		}
		r.plan.ensureConversions(missing)
		if r.probes.undialled(d, w) {
			return waiting(w, managerv1alpha1.ReasonProvedThroughAPIServer, "spec.conversion of its CustomResourceDefinitions is being written: "+undialledMessage)
		}
		return waiting(w, managerv1alpha1.ReasonRegistering, "spec.conversion of its CustomResourceDefinitions is being written")
	}
	if view, awaits := r.awaitConversionRoute(c); awaits {
		return view
	}
	r.plan.ensureConversions(w.Conversions)
	since := r.sinceOf(w.Description, managerv1alpha1.WebhookRegistered)
	return r.reachability(d, w, "", endOfSecond(since), backend)
}

// API servers call the previous port or path until callChecks pass.
func (r *registrar) awaitConversionRoute(c candidate) (view webhookView, awaits bool) {
	w := c.webhook
	i, held := slices.IndexFunc(w.Conversions, r.conversionRouteEdited), r.ports.blockedPortOf(c.deployment, w)
	if r.Policy.Gate != GateServing || i < 0 && held.reason == "" {
		return webhookView{}, false
	}
	blocking, blocked := c.firstBlocking(callChecks)
	if !blocked {
		return webhookView{}, false
	}
	called, message := w, blocking.message
	if i >= 0 {
		was := conversion.RouteOf(r.Observed.CRDs[w.Conversions[i].CRD].Spec.Conversion)
		message, called.Port = was.Until(conversion.RouteOf(&w.Conversions[i].Spec))+": "+message, was.Port
	}
	r.plan.ensureConversions(r.asRouted(w.Conversions))
	since := r.sinceOf(w.Description, managerv1alpha1.WebhookRegistered)
	view = r.reachability(c.deployment, called, "", endOfSecond(since), c.backend)
	view.Webhook = w
	return moving(view, cmp.Or(held.reason, blocking.reason), cmp.Or(held.message, message)), true
}
