package rollout

import (
	"fmt"
	"strings"
	"time"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/phase"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/workload"
)

// DescribeCommand is the command that shows the WebhookRollout of a ClusterServiceVersion.
func DescribeCommand(csv *operatorsv1alpha1.ClusterServiceVersion) string {
	return fmt.Sprintf("kubectl -n %s describe webhookrollouts %s", csv.Namespace, csv.Name)
}

// setFirst keeps the first text that is not empty.
func setFirst(kept *string, text string) {
	if *kept == "" {
		*kept = text
	}
}

// phaseFacts gathers what the decision came to.
func (r *reporter) phaseFacts() phase.Facts {
	f := phase.Facts{Unmet: r.Verdict.Unmet(), Reinstall: r.reinstall || r.extended(), Details: r.details()}
	r.upgradeFacts(&f)
	f.Failure = r.failure(f.Unmet)
	for _, d := range r.deployments {
		r.deploymentFacts(d, &f)
	}
	r.awaitVersions(&f)
	return f
}

// details is the command that shows the WebhookRollout, if there is one.
func (r *reporter) details() string {
	if !csvspec.HasRegistrations(r.CSV) && len(r.Previous.Conditions) == 0 {
		return ""
	}
	return DescribeCommand(r.CSV)
}

// failure is what only a change of the ClusterServiceVersion or of its surroundings ends.
func (r *reporter) failure(unmet string) *phase.Phase {
	switch {
	case r.Failure != nil:
		return &phase.Phase{Phase: operatorsv1alpha1.CSVPhaseFailed, Reason: r.Failure.Reason, Message: r.Failure.Message}
	case r.Verdict.Mistakes() != "":
		return new(phase.Invalid.Because(r.Verdict.Mistakes()))
	case r.Verdict.Conflict != "" && unmet == "":
		return new(phase.Conflict.Because(r.Verdict.Conflict))
	default:
		return nil
	}
}

// deploymentFacts adds what a Deployment lacks. Of several the first one counts.
func (r *reporter) deploymentFacts(d deploymentView, f *phase.Facts) {
	waits := d.missing(r.plan)
	if waits == "" {
		return
	}
	setFirst(&f.Incomplete, waits)
	setFirst(&f.Refused, d.refusal())
	if deadline := r.deadline(d); deadline.After(r.now) {
		r.plan.requeue(deadline, "installation timeout")
	} else if !deadline.IsZero() {
		setFirst(&f.TimedOut, waits)
	}
	lacks := d.unavailable()
	setFirst(&f.UnavailableAPIService, lacks)
	switch {
	case lacks != "" && (!d.progress.Available || d.progress.Complete()):
		setFirst(&f.Unhealthy, phase.Unavailable.Because(lacks).Message)
	case !d.progress.Available:
		setFirst(&f.Unhealthy, d.progress.Message)
	}
}

// extended tells whether a ClusterServiceVersion that has succeeded declares a
// webhook that was never registered: it has not succeeded with that one.
func (r *reporter) extended() bool {
	if r.CSV.Status.Phase != operatorsv1alpha1.CSVPhaseSucceeded {
		return false
	}
	for _, d := range r.deployments {
		for _, w := range d.webhooks {
			if w.missing() && !r.wasRegistered(w.Webhook) {
				return true
			}
		}
	}
	return false
}

// awaitedVersions is which versions whoever installs the ClusterServiceVersion has yet to serve, now
// that its webhooks convert to them; empty while they do not, or when there are none.
func (r *reporter) awaitedVersions(f phase.Facts) string {
	if len(r.Verdict.Awaited) == 0 || f.Incomplete != "" {
		return ""
	}
	return strings.Join(r.Verdict.Awaited, ", ") + " to be served: its webhook converts, and whoever installs it adds the version now (bundle upgrade does; interrupted, run it again)"
}

// awaitVersions holds the installation up until all versions are served, for as long as it
// would wait for a Deployment.
func (r *reporter) awaitVersions(f *phase.Facts) {
	f.AwaitedVersions = r.awaitedVersions(*f)
	if f.AwaitedVersions == "" {
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

// deadline is when a Deployment and its webhooks have taken too long to install. The
// time begins with the installation: a Deployment may be older. It is zero while
// nothing is being installed.
func (r *reporter) deadline(d deploymentView) time.Time {
	if r.CSV.Status.Phase != operatorsv1alpha1.CSVPhaseInstalling || d.progress.Since.IsZero() {
		return time.Time{}
	}
	since := d.progress.Since
	if began := r.CSV.Status.LastTransitionTime; began != nil {
		since = workload.Later(since, began.Time)
	}
	for _, w := range d.webhooks {
		since = workload.Later(since, w.registered)
	}
	return since.Add(r.Policy.InstallTimeout)
}

// upgradeFacts are what the phase depends on of what the other versions say.
func (r *reporter) upgradeFacts(f *phase.Facts) {
	f.ReplacedBy, f.FailForward = r.Upgrade.ReplacedBy, r.Upgrade.FailForward
	if r.Upgrade.Started || len(r.Upgrade.From) == 0 {
		return
	}
	f.NotUpgradeable = r.Upgrade.NotUpgradeable
	f.NotReady = r.Upgrade.NotReady
	if f.NotReady == "" && r.Upgrade.ReplacementUnknown {
		var older []string
		for _, c := range r.Upgrade.From {
			older = append(older, c.Name)
		}
		f.NotReady = "waits for " + strings.Join(older, ", ") + " to be ready for replacement"
	}
	if r.forbidden != "" {
		f.Unmet = r.forbidden
	}
}

// reasonVersionAwaited is that of a rollout whose webhooks are all in service, and convert to
// a version that is not served yet.
const reasonVersionAwaited = "VersionAwaited"
