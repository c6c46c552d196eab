package rollout

import (
	"fmt"
	"maps"
	"slices"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/registration"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/workload"
)

// removeStale removes the Deployments that the ClusterServiceVersion does not list any
// more, once nothing else is left to write, all that it lists works, and API servers call none
// of them: until then they may serve webhooks that are to be served by others, or conversions
// that objects need, and every API server must have learned who serves them.
func (p *planner) removeStale() {
	if len(p.plan.Steps) > 0 {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(p.Observed.Deployments)) {
		live := p.Observed.Deployments[name]
		if lists(p.CSV, name) || live.DeletionTimestamp != nil || !csvspec.OwnedBy(live, p.CSV) || p.isCalled(name) || p.waitsForAny() || p.mayBeCalled(live) {
			continue
		}
		p.take(Step{Verb: Delete, Object: live, Live: live})
	}
}

func lists(csv *operatorsv1alpha1.ClusterServiceVersion, deployment string) bool {
	return slices.ContainsFunc(csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs, func(spec operatorsv1alpha1.StrategyDeploymentSpec) bool {
		return spec.Name == deployment
	})
}

// waitsForAny tells whether anything that is listed is not complete yet.
func (p *planner) waitsForAny() bool {
	return slices.ContainsFunc(p.deployments, func(d deploymentView) bool { return d.waits(p) != "" })
}

// relocate decides about a live webhook that another Deployment is to serve from now on.
// The one that serves it goes on until that one does, and is then let go.
func (p *planner) relocate(d render.Deployment, w render.Webhook, live drift.Object, backend workload.Progress) (view webhookView, decided bool) {
	called := registration.ServiceOf(live)
	if called == nil || d.Service == nil || called.Name == d.Service.Name || called.Namespace != p.CSV.Namespace || p.Observed.Services[called.Name] == nil {
		return webhookView{}, false
	}
	reason, message := p.obstacle(d, w, backend)
	if reason == "" {
		return webhookView{}, false
	}
	view = p.reachability(backendOf(live, w.Description), render.Webhook{Description: w.Description, Port: registration.PortOf(live)}, live.GetName(), p.bornAt(live), workload.Progress{Available: true})
	view.Webhook = w
	return moving(view, reason, fmt.Sprintf("service %s serves it until deployment %s does: %s", called.Name, d.Object.Name, message)), true
}

// moving is a live webhook that is not called yet where it is to be.
func moving(view webhookView, reason, message string) webhookView {
	view.moving = message
	if view.state == managerv1alpha1.WebhookRegistered {
		view.reason, view.message = reason, message
	}
	return view
}
