package rollout

import (
	"fmt"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/registration"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/workload"
)

type registrar struct {
	*facts
	probes *probes
	ports  *ports
	plan   *planBuilder
}

const undialledMessage = "the API server reached it and trusted its certificate; the manager did not dial its pods itself"

// A live registration stays as desired, whether endpoints answer or not. Another call must pass callChecks first.
func (r *registrar) register(d render.Deployment, w render.Webhook, backend workload.Progress) webhookView {
	if w.Description.Type == operatorsv1alpha1.ConversionWebhook {
		return r.registerConversion(d, w, backend)
	}
	c := r.candidateFor(d, w, backend)
	if c.live != nil {
		if view, stays := r.stillRegistered(w, c.live); stays {
			return view
		}
	}
	if view, blocked := c.firstBlocking(writeChecks); blocked {
		if view.state == managerv1alpha1.WebhookDisabled {
			return r.disable(w, c.live)
		}
		if c.live != nil && r.Observed.Forbidden[drift.KeyOf(c.live)] != "" {
			r.plan.ensureTrustOnly(w, c.live)
		}
		return view
	}
	use := r.useOf(c)
	switch use.kind {
	case usedAsDesired:
		return r.keep(c)
	case usedOtherwise:
		return waiting(w, managerv1alpha1.ReasonDeploymentNotAvailable, fmt.Sprintf("ClusterServiceVersion %s declares this webhook differently: the webhook is registered again when deployment %s serves it", use.older, d.Object.Name))
	default: // The other uses need the checks.
	}
	if view, blocked := c.firstBlocking(callChecks); blocked {
		return r.await(c, use, view)
	}
	return r.proceed(c, use)
}

type useKind int

const (
	usedAsDesired useKind = iota
	unused
	usedWithoutRules // nothing calls it: its caBundle has to be injected first
	usedOtherwise    // as in the previous version, which is unregistered first
	usedByOlder      // by an older version, at another Deployment
	usedAtDeployment // at the Service of another Deployment
	usedAtRoute      // at another port or path of the Service
)

type use struct {
	kind     useKind
	older    string // the version that registered it
	servedBy string // the Deployment or Service that serves it
}

func (r *registrar) useOf(c candidate) use {
	switch {
	case c.live == nil:
		return use{kind: unused}
	case c.awaitsRules():
		return use{kind: usedWithoutRules}
	}
	if older := r.Upgrade.olderOwner(c.live); older != nil {
		switch change, servedBy := r.changeOf(older, registration.Registration{Kind: c.webhook.Description.Type, Object: c.live}); change {
		case render.Moved:
			return use{kind: usedByOlder, older: older.Name, servedBy: servedBy}
		case render.Changed:
			return use{kind: usedOtherwise, older: older.Name}
		default: // The older version does not use it.
		}
	}
	if service := r.otherService(c); service != "" {
		return use{kind: usedAtDeployment, servedBy: service}
	}
	if r.routeEdited(c) {
		return use{kind: usedAtRoute}
	}
	return use{kind: usedAsDesired}
}

// otherService returns the Service of another Deployment that serves the webhook; empty for none.
func (r *registrar) otherService(c candidate) string {
	called := registration.ServiceOf(c.live)
	if called == nil || c.deployment.Service == nil || called.Name == c.deployment.Service.Name || called.Namespace != r.CSV.Namespace || r.Observed.Services[called.Name] == nil {
		return ""
	}
	return called.Name
}

// API servers call the previous route until the new one is served. An edit of another client is repaired at once.
func (r *registrar) routeEdited(c candidate) bool {
	desired := c.webhook.Registration
	edited := registration.RouteOf(desired) != registration.RouteOf(c.live) || r.ports.blockedPortOf(c.deployment, c.webhook).reason != ""
	return r.Policy.Gate == GateServing && edited && registration.DescriptionHash(desired) != registration.DescriptionHash(c.live)
}

func (r *registrar) keep(c candidate) webhookView {
	desired := c.webhook.Registration
	switch {
	case c.webhook.Delegated:
		r.plan.ensure(r.Observed.withLiveSelector(desired, c.live), c.live)
	case c.adopted():
		r.plan.ensureTrust(desired, c.live)
	default:
		r.plan.ensureRegistration(desired, c.live)
	}
	return r.reachability(c.deployment, c.webhook, c.live.GetName(), r.registeredSince(c.webhook, r.createdAt(c.live)), c.backend)
}

// adopted reports whether a registration stays as olm-operator made it of the current description. An APIService has no hash.
func (c candidate) adopted() bool {
	hash := registration.DescriptionHash(c.live)
	if registration.IsAPIService(c.webhook) && hash == "" {
		hash = registration.DescriptionHash(c.webhook.Registration)
	}
	return c.deployment.Adopted && hash == registration.DescriptionHash(c.webhook.Registration) &&
		registration.RouteOf(c.webhook.Registration) == registration.RouteOf(c.live) && registration.CallSameService(c.webhook.Registration, c.live)
}

// await reports a webhook that a check blocks. API servers call it as before.
func (r *registrar) await(c candidate, is use, blocked webhookView) webhookView {
	switch is.kind {
	case usedByOlder:
		return waiting(c.webhook, blocked.reason, fmt.Sprintf("deployment %s of %s serves it until deployment %s does: %s", is.servedBy, is.older, c.deployment.Object.Name, blocked.message))
	case usedAtDeployment:
		served := render.Webhook{Description: c.webhook.Description, Port: registration.PortOf(c.live)}
		view := r.reachability(backendOf(c.live, c.webhook.Description), served, c.live.GetName(), r.createdAt(c.live), workload.Progress{Available: true})
		view.Webhook = c.webhook
		return moving(view, blocked.reason, fmt.Sprintf("service %s serves it until deployment %s does: %s", is.servedBy, c.deployment.Object.Name, blocked.message))
	case usedAtRoute:
		return r.awaitRoute(c, blocked)
	case usedWithoutRules:
		r.plan.ensure(registration.WithoutRules(c.webhook.Registration), c.live)
	default: // API servers do not call it.
	}
	return r.withConfigurationName(blocked)
}

// awaitRoute reports a webhook that API servers call at its previous port and path.
func (r *registrar) awaitRoute(c candidate, blocked webhookView) webhookView {
	desired, called := c.webhook.Registration, c.webhook
	r.plan.ensureRegistration(registration.WithLiveRoute(desired, c.live), c.live)
	called.Port = registration.PortCalled(c.live)
	view := r.reachability(c.deployment, called, c.live.GetName(), r.registeredSince(c.webhook, r.createdAt(c.live)), c.backend)
	view.Webhook = c.webhook
	if held := r.ports.blockedPortOf(c.deployment, c.webhook); held.reason != "" {
		return moving(view, held.reason, held.message)
	}
	return moving(view, blocked.reason, registration.RouteOf(c.live).Until(registration.RouteOf(desired))+": "+blocked.message)
}

func (r *registrar) proceed(c candidate, is use) webhookView {
	desired := c.webhook.Registration
	switch is.kind {
	case unused:
		if c.webhook.Delegated {
			r.plan.ensure(registration.WithoutRules(desired), nil)
			return r.withConfigurationName(waiting(c.webhook, managerv1alpha1.ReasonCABundleNotInjected, "the registration is being written without rules, for its caBundle to be injected"))
		}
		r.plan.ensure(desired, nil)
		if r.probes.undialled(c.deployment, c.webhook) {
			return waiting(c.webhook, managerv1alpha1.ReasonProvedThroughAPIServer, "the registration is being written: "+undialledMessage)
		}
		return waiting(c.webhook, managerv1alpha1.ReasonRegistering, "the registration is being written")
	case usedWithoutRules:
		r.plan.ensure(desired, c.live)
		return waiting(c.webhook, managerv1alpha1.ReasonRegistering, "its endpoints serve what was injected: the registration gets its rules")
	case usedByOlder:
		r.plan.ensureRegistration(desired, c.live)
		return waiting(c.webhook, managerv1alpha1.ReasonRegistering, "the registration is being switched")
	default:
		return r.keep(c)
	}
}

// The name shows later reconciliations that the deleted registration existed.
func (r *registrar) withConfigurationName(view webhookView) webhookView {
	if r.wasRegistered(view.Webhook) {
		view.configuration = view.Registration.GetName()
	}
	return view
}

// disable keeps what serves the webhook, so that it is registered as soon as it is switched on.
func (r *registrar) disable(w render.Webhook, live drift.Object) webhookView {
	if live != nil {
		r.plan.unregister(live)
		if view, stays := r.stillRegistered(w, live); stays {
			r.plan.ensureTrustOnly(w, live)
			view.moving = "" // an installation does not wait for it
			return view
		}
	}
	reason, message, _ := r.switchedOff()
	return webhookView{Webhook: w, state: managerv1alpha1.WebhookDisabled, reason: reason, message: message}
}

// stillRegistered returns the state of a webhook that API servers call until its registration can be deleted.
func (r *registrar) stillRegistered(w render.Webhook, live drift.Object) (view webhookView, stays bool) {
	why := r.plan.stays[drift.KeyOf(live)]
	if why == "" {
		return webhookView{}, false
	}
	called := render.Webhook{Description: w.Description, Port: registration.PortOf(live)}
	view = r.reachability(backendOf(live, w.Description), called, live.GetName(), r.createdAt(live), workload.Progress{Available: true})
	view.Webhook = w
	return moving(view, managerv1alpha1.ReasonStillRegistered, why), true
}
