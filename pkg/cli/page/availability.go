package page

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/page/chart"
)

func (r rollout) deploymentRow() chart.Row {
	row := chart.Row{Name: "Deployment " + r.status.Name}
	switch {
	case r.deployment != nil:
		row.Bars, row.Instants = r.availability(*r.deployment), rolledOut(*r.deployment)
	case r.unread != "":
		row.Unknown = "not shown: " + r.unread
	case r.status.State == managerv1alpha1.DeploymentPending:
		row.Unknown = "not created yet"
	default:
		row.Unknown = "it does not exist"
	}
	return row
}

// availability begins with the creation. Of the condition, only the last change is recorded: a Deployment whose webhook
// was registered earlier must have been available before.
func (r rollout) availability(d appsv1.Deployment) []chart.Bar {
	created := d.CreationTimestamp.Time
	available := conditionOf(d, appsv1.DeploymentAvailable)
	changed := available.LastTransitionTime.Time
	if changed.IsZero() {
		return positive([]chart.Bar{{From: created, To: r.now, Text: "not available yet", Color: chart.Wait}})
	}
	before := chart.Bar{From: created, To: changed, Text: "not available yet", Color: chart.Wait}
	after := chart.Bar{From: changed, To: r.now, Text: "available", Color: chart.Good}
	wasAvailable := !r.registered.IsZero() && r.registered.Before(changed)
	if available.Status != corev1.ConditionTrue {
		after.Text, after.Color = "not available", chart.Bad
		wasAvailable = wasAvailable || changed.Sub(created) > atOnce
		if !wasAvailable {
			return positive([]chart.Bar{{From: created, To: r.now, Text: "not available yet", Color: chart.Wait}})
		}
	}
	if wasAvailable {
		before.Text, before.Color = notRecorded, chart.Unknown
	}
	return positive([]chart.Bar{before, after})
}

// atOnce is the time within which the controller of Deployments reports that a new one is not available.
const atOnce = 5 * time.Second

func conditionOf(d appsv1.Deployment, kind appsv1.DeploymentConditionType) appsv1.DeploymentCondition {
	return lists.First(d.Status.Conditions, func(c appsv1.DeploymentCondition) bool { return c.Type == kind })
}

const revision = "deployment.kubernetes.io/revision"

// rolledOut is when the pods of the last revision were available, or when their controller stopped waiting.
func rolledOut(d appsv1.Deployment) []chart.Instant {
	c := conditionOf(d, appsv1.DeploymentProgressing)
	if c.LastUpdateTime.IsZero() {
		return nil
	}
	switch c.Reason {
	case "NewReplicaSetAvailable":
		return []chart.Instant{{At: c.LastUpdateTime.Time, Text: fmt.Sprintf("revision %s of the pods is complete", d.Annotations[revision]), Color: chart.Good}}
	case "ProgressDeadlineExceeded":
		return []chart.Instant{{At: c.LastUpdateTime.Time, Text: "the progress deadline is exceeded", Color: chart.Bad}}
	default:
		return nil
	}
}
