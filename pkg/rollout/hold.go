package rollout

import (
	"slices"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install"
)

// hold looks at a ClusterServiceVersion that may not be installed as it is. What is
// live stays live; the rest is blocked by what the ClusterServiceVersion fails for.
func (p *planner) hold() {
	why := p.Verdict.Mistakes()
	first(&why, p.Verdict.Unmet())
	if p.Failure != nil {
		why = p.Failure.Message
	}
	for _, name := range p.deploymentNames() {
		view := deploymentView{name: name, progress: progressOf(p.Observed.Deployments[name], p.Observed.Pods[name])}
		if p.Observed.Deployments[name] == nil {
			view.progress = progress{state: managerv1alpha1.DeploymentPending, reason: "NotInstallable", message: why}
		}
		for _, description := range install.DescriptionsOf(p.CSV, name) {
			if !view.has(install.IdentityOf(description)) {
				view.webhooks = append(view.webhooks, p.heldWebhook(description, why))
			}
		}
		p.deployments = append(p.deployments, view)
	}
}

// has tells whether a webhook of that identity is there: one that is declared twice
// is reported once.
func (v deploymentView) has(of install.Identity) bool {
	return slices.ContainsFunc(v.webhooks, func(w webhookView) bool { return install.IdentityOf(w.Description) == of })
}

// deploymentNames are those that the ClusterServiceVersion lists, and those that
// only its webhooks name.
func (p *planner) deploymentNames() []string {
	var all []string
	for _, spec := range p.CSV.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
		all = append(all, spec.Name)
	}
	for _, d := range p.CSV.Spec.WebhookDefinitions {
		if !slices.Contains(all, d.DeploymentName) {
			all = append(all, d.DeploymentName)
		}
	}
	return all
}

func (p *planner) heldWebhook(d operatorsv1alpha1.WebhookDescription, why string) webhookView {
	view := webhookView{
		Webhook: install.Webhook{Description: d},
		state:   managerv1alpha1.WebhookBlocked, reason: "NotInstallable", message: why,
	}
	name, exists := p.Observed.Configurations(p.CSV)[install.IdentityOf(d)]
	for _, live := range p.Observed.registrations() {
		if exists && live.kind == d.Type && live.object.GetName() == name {
			view.configuration, view.registered = name, live.object.GetCreationTimestamp().Time
			view.state, view.reason = managerv1alpha1.WebhookRegistered, "Held"
			view.message = "stays as it was registered: " + why
		}
	}
	return view
}
