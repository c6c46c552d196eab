package page

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/page/chart"
)

// beforeProbe are the reasons of a webhook whose endpoints are not checked yet.
var beforeProbe = []string{
	"", managerv1alpha1.ReasonDeploymentNotAvailable, managerv1alpha1.ReasonEarlierDeployment, managerv1alpha1.ReasonNotInstallable,
	managerv1alpha1.ReasonCertificateMissing, managerv1alpha1.ReasonCertificateUnusable, managerv1alpha1.ReasonServiceMissing,
	managerv1alpha1.ReasonCABundleNotInjected, managerv1alpha1.ReasonNamespacesNotLabelled, managerv1alpha1.ReasonVersionAwaited,
	managerv1alpha1.ReasonPortCalled, managerv1alpha1.ReasonServiceChanged, managerv1alpha1.ReasonSwitchedOff, managerv1alpha1.ReasonHeld,
	managerv1alpha1.ReasonRefusedByAPIServer, managerv1alpha1.ReasonStillRegistered, managerv1alpha1.ReasonWaitsForReplaced,
}

// isProbed reports whether a webhook waits for the answers of its endpoints.
func (s webhookState) isProbed() bool {
	return s.state == string(managerv1alpha1.WebhookWaiting) && !slices.Contains(beforeProbe, s.reason) && s.reason != managerv1alpha1.ReasonRegistering
}

// probeRow has the results that were observed since the command began. The cluster keeps no record of a probe.
func (r rollout) probeRow() chart.Row {
	row := chart.Row{Name: "probe and test review"}
	row.Bars = barsOf(r.states, func(s webhookState) (string, chart.Color) {
		if !s.isProbed() {
			return "", ""
		}
		return s.reason, chart.Wait
	})
	current := webhookState{string(r.webhook.State), r.webhook.Reason}
	switch {
	case len(row.Bars) > 0:
	case current.isProbed():
		row.Unknown = fmt.Sprintf("%s; since when is %s", current.reason, notRecorded)
	case !r.live:
		row.Unknown = "not started"
	default:
		row.Bars = r.unrecordedProbe()
		if len(row.Bars) == 0 {
			row.Unknown = notRecorded
		}
	}
	return row
}

// unrecordedProbe is the interval in which the manager checked the endpoints: it does so after the Deployment is
// available, and before the registration.
func (r rollout) unrecordedProbe() []chart.Bar {
	if r.deployment == nil || r.registered.IsZero() {
		return nil
	}
	from := r.deployment.CreationTimestamp.Time
	if c := conditionOf(*r.deployment, appsv1.DeploymentAvailable); c.Status == corev1.ConditionTrue && !c.LastTransitionTime.After(r.registered) {
		from = c.LastTransitionTime.Time
	}
	return positive([]chart.Bar{{From: from, To: r.registered, Text: notRecorded, Color: chart.Unknown}})
}
