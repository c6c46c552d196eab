package rollout

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/phase"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/workload"
)

// DescribeCommand returns the command that shows the WebhookRollout of a ClusterServiceVersion.
func DescribeCommand(csv *operatorsv1alpha1.ClusterServiceVersion) string {
	return fmt.Sprintf("kubectl -n %s describe webhookrollouts %s", csv.Namespace, csv.Name)
}

func (r *reporter) phaseFacts() phase.Facts {
	f := phase.Facts{Unmet: r.Verdict.Unmet(), Reinstall: r.reinstall || r.extended(), Details: r.details()}
	r.upgradeFacts(&f)
	f.Failure = r.failure(f.Unmet)
	if kept := r.unregistrationRefused(); kept != "" && f.Failure != nil && r.yields() {
		f.Failure.Message += "; " + kept
	}
	for _, d := range r.deployments {
		r.deploymentFacts(d, &f)
	}
	r.awaitVersions(&f)
	return f
}

func (r *reporter) details() string {
	if !csvspec.HasRegistrations(r.CSV) && len(r.Previous.Conditions) == 0 {
		return ""
	}
	return DescribeCommand(r.CSV)
}

// failure ends only with a change of the ClusterServiceVersion or of its environment.
func (r *reporter) failure(unmet string) *phase.Phase {
	switch {
	case r.Failure != nil:
		return &phase.Phase{Phase: operatorsv1alpha1.CSVPhaseFailed, Reason: r.Failure.Reason, Message: r.Failure.Message}
	case r.Verdict.Invalid() != "":
		return new(phase.Invalid.Because(r.Verdict.Invalid()))
	case r.Verdict.Conflict != "" && unmet == "":
		return new(phase.Conflict.Because(r.Verdict.Conflict))
	default:
		return nil
	}
}

// deploymentFacts adds what a Deployment waits for. The first Deployment wins.
func (r *reporter) deploymentFacts(d deploymentView, f *phase.Facts) {
	gap := d.gap(r.facts)
	if gap.what == "" {
		return
	}
	r.plan.requeue(gap.until, "API servers learn of a registration")
	r.plan.AskBeginnings = r.plan.AskBeginnings.With(gap.ask)
	f.Incomplete = cmp.Or(f.Incomplete, gap.what)
	f.Refused = cmp.Or(f.Refused, d.refusal())
	if deadline := r.deadline(d); deadline.After(r.now) {
		r.plan.requeue(deadline, "installation timeout")
	} else if !deadline.IsZero() {
		f.TimedOut = cmp.Or(f.TimedOut, gap.what)
	}
	lacks := d.unavailable()
	f.UnavailableAPIService = cmp.Or(f.UnavailableAPIService, lacks)
	switch {
	case lacks != "" && (!d.progress.Available || d.progress.Complete()):
		f.Unhealthy = cmp.Or(f.Unhealthy, phase.Unavailable.Because(lacks).Message)
	case !d.progress.Available:
		f.Unhealthy = cmp.Or(f.Unhealthy, d.progress.Message)
	}
}

// extended reports whether a Succeeded ClusterServiceVersion declares a webhook that was never registered.
func (r *reporter) extended() bool {
	if r.CSV.Status.Phase != operatorsv1alpha1.CSVPhaseSucceeded {
		return false
	}
	return slices.ContainsFunc(r.deployments, func(d deploymentView) bool {
		return slices.ContainsFunc(d.webhooks, func(w webhookView) bool { return w.missing() && !r.wasRegistered(w.Webhook) })
	})
}

// awaitVersions waits for versions to which the webhooks convert now, at most as long as for a Deployment.
func (r *reporter) awaitVersions(f *phase.Facts) {
	switch {
	case f.Incomplete != "":
		return
	case len(r.Verdict.Awaited) > 0:
		f.AwaitedVersions = strings.Join(r.Verdict.Awaited, ", ") + " to be served: its webhook converts: add the version to the definition now (bundle upgrade does so; if it was interrupted, run it again)"
	case len(r.Verdict.Held) > 0:
		f.AwaitedVersions = strings.Join(r.Verdict.Held, ", ") + " to be served: the manager serves it as soon as no object can lose a field"
	default:
		return
	}
	f.Incomplete = f.AwaitedVersions
	var last time.Time
	for _, d := range r.deployments {
		last = workload.Later(last, r.deadline(d))
	}
	if r.plan.requeue(last, "installation timeout"); !last.IsZero() && !last.After(r.now) {
		f.TimedOut = f.AwaitedVersions
	}
}

// deadline is zero if nothing is being installed. The time starts with the installation or a later progress. It has passed
// if the Deployment exceeded its own deadline, as with OLM v0.
func (r *reporter) deadline(d deploymentView) time.Time {
	if r.CSV.Status.Phase != operatorsv1alpha1.CSVPhaseInstalling || d.progress.Since.IsZero() {
		return time.Time{}
	}
	since := d.progress.Since
	if d.progress.Exceeded {
		return since
	}
	if began := r.CSV.Status.LastTransitionTime; began != nil {
		since = workload.Later(since, began.Time)
	}
	for _, w := range d.webhooks {
		since = workload.Later(since, w.registered)
	}
	return since.Add(r.Policy.InstallTimeout)
}

func (r *reporter) upgradeFacts(f *phase.Facts) {
	f.ReplacedBy, f.FailForward = r.Upgrade.ReplacedBy, r.Upgrade.FailForward
	if r.Upgrade.Started || len(r.Upgrade.From) == 0 {
		return
	}
	f.NotUpgradeable = r.Upgrade.NotUpgradeable
	f.NotReady = r.Upgrade.NotReady
	if f.NotReady == "" && r.Upgrade.ReplacementUnknown {
		f.NotReady = "waits for " + strings.Join(r.Upgrade.names(), ", ") + " to be ready for replacement"
	}
	if r.upgradeObstacle != "" {
		f.Unmet = r.upgradeObstacle
	}
}
