package rollout

import (
	"cmp"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/registration"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/workload"
)

func (p *planner) block() {
	why := cmp.Or(p.Verdict.Invalid(), p.Verdict.Conflict, p.Verdict.Unmet(), p.Upgrade.NotUpgradeable, p.Upgrade.NotReady, p.upgradeObstacle,
		"it is installed when the version that it replaces can be upgraded")
	if p.Failure != nil {
		why = p.Failure.Message
	}
	if p.Verdict.RequeueAfter > 0 {
		p.plan.requeue(p.now.Add(p.Verdict.RequeueAfter), "requirements are not met")
	}
	p.blockBecause(why)
}

func (p *planner) blockBecause(why string) {
	for _, name := range p.deploymentNames() {
		view := deploymentView{name: name, progress: workload.ProgressOf(p.Observed.Deployments[name], p.Observed.Pods[name])}
		if p.Observed.Deployments[name] == nil {
			view.progress = workload.Progress{State: managerv1alpha1.DeploymentPending, Reason: managerv1alpha1.ReasonNotInstallable, Message: why}
		}
		for _, description := range csvspec.Descriptions(p.CSV, name) {
			if !view.has(csvspec.IdentityOf(description)) {
				view.webhooks = append(view.webhooks, p.blockWebhook(description, view.progress, why))
			}
		}
		p.deployments = append(p.deployments, view)
	}
}

// blockWebhook keeps a webhook as it was registered, but unregisters one that is switched off.
func (p *planner) blockWebhook(d operatorsv1alpha1.WebhookDescription, backend workload.Progress, why string) webhookView {
	if view, kept := p.maintainer.reregistered[csvspec.IdentityOf(d)]; kept {
		return view
	}
	blocked := webhookView{
		Webhook: render.Webhook{Description: d},
		state:   managerv1alpha1.WebhookBlocked, reason: managerv1alpha1.ReasonNotInstallable, message: why,
	}
	if d.Type == operatorsv1alpha1.ConversionWebhook {
		return p.blockedConversion(blocked, why)
	}
	live := p.liveRegistration(d)
	if p.Config.Disabled(d) {
		return p.registrar.disable(render.Webhook{Description: d}, live)
	}
	if live != nil && p.yields() {
		if view, stays := p.registrar.stillRegistered(blocked.Webhook, live); stays {
			return view
		}
	}
	if live == nil || p.yields() {
		return blocked
	}
	view := p.registrar.reachability(backendOf(live, d), render.Webhook{Description: d, Port: registration.PortOf(live)}, live.GetName(), live.GetCreationTimestamp().Time, backend)
	if view.state == managerv1alpha1.WebhookRegistered {
		view.reason, view.message = managerv1alpha1.ReasonHeld, "stays as it was registered: "+why
	}
	return view
}

// blockedConversion counts as registered if Services of the namespace convert all definitions.
func (p *planner) blockedConversion(view webhookView, why string) webhookView {
	view.gap = p.gapOf(view.Description)
	for _, name := range view.Description.ConversionCRDs {
		crd := p.Observed.CRDs[name]
		if crd == nil || !p.convertedHere(crd) {
			return view
		}
		if _, service := owners.ConvertedBy(crd); p.Observed.Services[service] == nil {
			return view
		}
	}
	if len(view.Description.ConversionCRDs) > 0 {
		view.registered = p.sinceOf(view.Description, managerv1alpha1.WebhookRegistered)
		view.state, view.reason = managerv1alpha1.WebhookRegistered, managerv1alpha1.ReasonHeld
		view.message = "stays as it was registered: " + why
	}
	return view
}
