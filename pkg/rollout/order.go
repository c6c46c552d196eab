package rollout

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/workload"
)

// relax reports whether a Deployment has delayed the next ones for long enough. Some operators have
// a first Deployment that needs a webhook of the second one to become ready.
func (p *planner) relax(v deploymentView, waits string, behind []render.Deployment) bool {
	if len(behind) == 0 || v.progress.Since.IsZero() {
		return false
	}
	bound := p.waitingSince(v).Add(p.Policy.OrderTimeout)
	if running := v.progress.Running.Add(p.Policy.RunningTimeout); !v.progress.Running.IsZero() && running.Before(bound) {
		bound = running
	}
	if p.now.Before(bound) {
		p.plan.requeue(bound, "a Deployment delays the next one")
		return false
	}
	if p.relaxed == "" && (p.starts(behind) || meta.IsStatusConditionTrue(p.Previous.Conditions, managerv1alpha1.ConditionOrderRelaxed)) {
		p.relaxed = fmt.Sprintf("deployment %s is not complete within its bound, the next one starts without it: %s", v.name, waits)
	}
	return true
}

// waitingSince returns the last progress of a Deployment or of a webhook that is not registered.
func (p *planner) waitingSince(v deploymentView) time.Time {
	since := v.progress.Since
	for _, w := range v.webhooks {
		if w.missing() {
			since = workload.Later(since, p.sinceOf(w.Description, w.state))
		}
	}
	return since
}

// starts reports whether some of the Deployments do not exist yet. To skip existing ones is not
// reported: they started in their order.
func (p *planner) starts(deployments []render.Deployment) bool {
	return slices.ContainsFunc(deployments, func(d render.Deployment) bool { return p.Observed.Deployments[d.Object.Name] == nil })
}
