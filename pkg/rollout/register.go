package rollout

import (
	"fmt"
	"slices"
	"time"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/reviews"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/backends"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/registration"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/workload"
)

// register decides about one webhook: a live one is kept as desired, whatever
// becomes of its backends; another is registered once nothing speaks against it.
func (p *planner) register(d render.Deployment, w render.Webhook, backend workload.Progress) webhookView {
	if w.Description.Type == operatorsv1alpha1.ConversionWebhook {
		return p.convert(d, w, backend)
	}
	desired, live := registration.Of(w), p.registered(w)
	if p.Config.Disabled(w.Description) {
		return p.disable(w, live)
	}
	if reason, message := p.refused(drift.KeyOf(desired)); reason != "" {
		return webhookView{Webhook: w, state: managerv1alpha1.WebhookBlocked, reason: reason, message: message}
	}
	if w.Delegated {
		return p.delegate(d, w, backend)
	}
	if live == nil {
		if reason, message := p.obstacle(d, w, backend); reason != "" {
			return p.remembering(waiting(w, reason, message))
		}
		p.want(desired, nil)
		if p.undialled(d, w) {
			return waiting(w, reasonUndialled, "the registration is being written: "+undialled)
		}
		return waiting(w, "Registering", "the registration is being written")
	}
	if view, decided := p.inherit(d, w, live, backend); decided {
		return view
	}
	if view, decided := p.relocate(d, w, live, backend); decided {
		return view
	}
	if view, decided := p.reroute(d, w, live, backend); decided {
		return view
	}
	p.keep(desired, live)
	return p.reachability(d, w, live.GetName(), p.handedOver(w, p.bornAt(live)), backend)
}

// keep repairs a live registration. One that bears a later generation of trust than
// this decision knows was written by a manager that saw more: it is left alone. Each Service
// has a Secret of its own, which counts its own generations: numbers of another one mean nothing.
func (p *planner) keep(desired, live drift.Object) {
	if !registration.TrustsLater(live, desired) || !registration.CallSameService(desired, live) {
		p.want(p.covering(desired, live), live)
	}
}

// reachability is the state of a live registration. It stays registered under the
// same policy even when nobody answers: to take it away would let through what it
// is there to stop.
func (p *planner) reachability(d render.Deployment, w render.Webhook, configuration string, registered time.Time, backend workload.Progress) webhookView {
	view := webhookView{
		Webhook: w, configuration: configuration, registered: registered,
		state: managerv1alpha1.WebhookRegistered, reason: "Serving",
	}
	if before := p.before(w.Description); before != nil && before.Reason == reasonUndialled {
		view.reason, view.message = reasonUndialled, undialled
	}
	reason, message := "", ""
	switch {
	case p.Policy.Gate == GateAvailable && !backend.Available:
		reason, message = "DeploymentNotAvailable", backend.Message
	case p.Policy.Gate == GateServing:
		_, reason, message = p.endpoints(d, w)
	}
	if reason == reasonNoEndpoints && backend.Message != "" {
		message += ": " + backend.Message
	}
	if reason != "" {
		view.state, view.reason, view.message = managerv1alpha1.WebhookUnreachable, reason, message
	}
	if registration.IsAPIService(w) {
		return p.availability(view)
	}
	return view
}

// obstacle is the first thing that keeps a webhook from being registered.
func (p *planner) obstacle(d render.Deployment, w render.Webhook, backend workload.Progress) (reason, message string) {
	if w.Delegated {
		return p.delegatedObstacle(d, w, backend)
	}
	certificate := p.Certificates[d.Object.Name]
	switch {
	case certificate.CAFingerprint == "" && certificate.Message != "":
		return "CertificateUnusable", certificate.Message
	case !backend.Complete() && !(p.servedBefore(w) && backend.Available):
		return "DeploymentNotAvailable", backend.Message
	case certificate.CAFingerprint == "":
		return "CertificateMissing", "the serving certificate is being written"
	case p.uncovered(w):
		return p.unlabelled()
	case p.Policy.Gate == GateServing:
		return p.silence(d, w, backend)
	default:
		return "", ""
	}
}

// servedBefore tells whether what is being rolled out served the webhook before: then a
// registration that somebody else took away comes back as soon as its endpoints serve. Where an
// older version had it in service in another way, or on another Deployment, pods of that
// version may be the ones that answer.
func (p *planner) servedBefore(w render.Webhook) bool {
	for _, older := range p.Upgrade.From {
		if change, declared := render.Changes(older, p.CSV)[csvspec.IdentityOf(w.Description)]; declared && change != render.Same {
			return false
		}
	}
	return p.wasRegistered(w)
}

// wasRegistered tells whether the webhook was in service when it was last looked at, whoever
// had it in hand.
func (p *planner) wasRegistered(w render.Webhook) bool {
	before := p.before(w.Description)
	return before != nil && (isRegistered(*before) || before.Configuration != "")
}

// remembering keeps the name of a registration that was taken away, by which later
// passes know that it was there.
func (p *planner) remembering(view webhookView) webhookView {
	if p.wasRegistered(view.Webhook) {
		view.configuration = registration.Of(view.Webhook).GetName()
	}
	return view
}

// silence is why the webhook's endpoints cannot be called yet. Endpoints that were
// not dialled in this pass are asked for. Those of a Service that somebody edited prove nothing
// of the pods that are called once it is repaired.
func (p *planner) silence(d render.Deployment, w render.Webhook, backend workload.Progress) (reason, message string) {
	if held := p.held(d, w); held.reason != "" {
		return held.reason, held.message
	}
	if live := p.Observed.Services[d.Service.Name]; live != nil && !backends.LeadsAlike(live, d.Service) {
		return "ServiceChanged", fmt.Sprintf("service %s does not lead to the pods that it should: it is being repaired", live.Name)
	}
	endpoints, reason, message := p.toProbe(d, w)
	if reason != "" {
		return reason, message
	}
	return p.unanswered(endpoints, p.probePause(w, backend))
}

// unanswered is why some endpoints cannot be called. Those that do not serve are dialled again
// after a pause.
func (p *planner) unanswered(endpoints []backends.Endpoint, pause time.Duration) (reason, message string) {
	for _, e := range endpoints {
		answer, asked := p.Observed.Answers[e]
		if !asked {
			p.ask(e)
			reason, message = "Probing", "its endpoints are being dialled"
			continue
		}
		if !answer.Serves() {
			p.lookAgain(p.now.Add(pause))
			return answer.Reason, answer.Message
		}
	}
	return reason, message
}

// toProbe are the endpoints of a webhook with the review that each pod has to answer before
// the webhook is called there. One that was in service is registered again without a review:
// its answers to API servers have shown what a review would.
func (p *planner) toProbe(d render.Deployment, w render.Webhook) (all []backends.Endpoint, reason, message string) {
	all, reason, message = p.endpoints(d, w)
	if reason != "" || p.servedBefore(w) && !p.isCalledOtherwise(w) {
		return all, reason, message
	}
	review := reviews.For(p.CSV, w.Description, p.Observed.Catalog)
	for i := range all {
		if !all[i].Virtual {
			all[i].Review = review
		}
	}
	return all, "", ""
}

// isCalledOtherwise reports whether API servers call a webhook at another Service, port or path than
// its description names.
func (p *planner) isCalledOtherwise(w render.Webhook) bool {
	if w.Description.Type == operatorsv1alpha1.ConversionWebhook {
		return slices.ContainsFunc(w.Conversions, p.routeEdited)
	}
	live := p.registered(w)
	return live != nil && (!registration.CallSameService(registration.Of(w), live) || registration.RouteOf(registration.Of(w)) != registration.RouteOf(live))
}

// reasonUndialled is that of a webhook which the API server reaches and the manager does
// not.
const (
	reasonUndialled = "ProvedThroughAPIServer"
	undialled       = "the API server reached it and trusted its certificate; the manager did not dial its pods itself"
)

// undialled tells whether an endpoint of the webhook was proved through the API server.
func (p *planner) undialled(d render.Deployment, w render.Webhook) bool {
	endpoints, _, _ := p.toProbe(d, w)
	return slices.ContainsFunc(endpoints, func(e backends.Endpoint) bool { return p.Observed.Answers[e].ThroughAPIServer })
}

// ask puts an endpoint among those to dial, once: webhooks may share a port and a review.
func (p *planner) ask(e backends.Endpoint) {
	if !slices.Contains(p.plan.Probes, e) {
		p.plan.Probes = append(p.plan.Probes, e)
	}
}

// probePause is how long to wait before endpoints that do not serve are dialled
// again: short at first, since a Service's address starts to answer just after its
// endpoints do, then in proportion to the wait since the last change for the better. How
// long the Deployment itself took says nothing of that.
func (p *planner) probePause(w render.Webhook, backend workload.Progress) time.Duration {
	const shortest, longest = 100 * time.Millisecond, 30 * time.Second
	since := workload.Later(backend.Since, p.sinceOf(w.Description, managerv1alpha1.WebhookWaiting))
	return min(max(p.now.Sub(since)/10, shortest), longest)
}

func waiting(w render.Webhook, reason, message string) webhookView {
	return webhookView{Webhook: w, state: managerv1alpha1.WebhookWaiting, reason: reason, message: message}
}
