package rollout

import (
	"fmt"
	"time"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/workload"
)

// deadline is when a Deployment and its webhooks have taken too long to install. The
// time begins with the installation: a Deployment may be older. It is zero while
// nothing is being installed.
func (p *planner) deadline(d deploymentView) time.Time {
	if p.CSV.Status.Phase != operatorsv1alpha1.CSVPhaseInstalling || d.progress.Since.IsZero() {
		return time.Time{}
	}
	since := d.progress.Since
	if began := p.CSV.Status.LastTransitionTime; began != nil {
		since = workload.Later(since, began.Time)
	}
	for _, w := range d.webhooks {
		since = workload.Later(since, w.registered)
	}
	return since.Add(p.Policy.InstallTimeout)
}

// waits is what a Deployment and its webhooks lack to be complete.
func (v deploymentView) waits(p *planner) string {
	if !v.progress.Complete() {
		return fmt.Sprintf("deployment %s to become ready: %s", v.name, v.progress.Message)
	}
	for _, w := range v.webhooks {
		if w.lacks() {
			return fmt.Sprintf("%s to be registered: %s", w.title(), w.message)
		}
		if w.moving != "" {
			return fmt.Sprintf("%s to be switched: %s", w.title(), w.moving)
		}
	}
	return v.settling(p)
}

// settling is which registration is so young that some API server may not know it yet.
func (v deploymentView) settling(p *planner) string {
	if p.Policy.Gate == GateAvailable {
		return ""
	}
	for _, w := range v.webhooks {
		if settled := w.registered.Add(p.Policy.Settle); p.now.Before(settled) {
			p.lookAgain(settled)
			return fmt.Sprintf("%s to be known to every API server", w.title())
		}
	}
	return ""
}

func (v deploymentView) refusal() string {
	if v.progress.Reason == reasonRefused {
		return v.progress.Message
	}
	for _, w := range v.webhooks {
		if w.reason == reasonRefused {
			return w.message
		}
	}
	return ""
}
