package page

import (
	"cmp"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/page/chart"
)

// noPhase is the text of a ClusterServiceVersion whose status is not written yet.
const noPhase = "no phase"

// notRecorded is the text of an interval of which the cluster keeps no record.
const notRecorded = "not recorded"

// rollout is what is known of the rollout of one webhook.
type rollout struct {
	csv *operatorsv1alpha1.ClusterServiceVersion
	// deployment is nil if it does not exist, or if it is unread: that is why it is not known.
	deployment *appsv1.Deployment
	unread     string
	status     managerv1alpha1.DeploymentStatus
	webhook    managerv1alpha1.WebhookStatus
	// registered is when the registration was created; zero if that is not known.
	registered time.Time
	// written is when spec.conversion was written last; zero for other registrations.
	written time.Time
	live    bool
	states  []span[webhookState]
	events  []Event
	now     time.Time
}

// chart shows the times that the cluster records. It marks what nothing records.
func (r rollout) chart() chart.Chart {
	return chart.New(r.now,
		chart.Row{Name: "ClusterServiceVersion", Bars: r.phases()},
		r.deploymentRow(),
		r.certificateRow(),
		r.probeRow(),
		r.registrationRow(),
		chart.Row{Name: "events", Instants: lists.Map(r.events, instantOf)},
	)
}

func phaseColor(phase operatorsv1alpha1.ClusterServiceVersionPhase) chart.Color {
	switch phase {
	case operatorsv1alpha1.CSVPhaseSucceeded:
		return chart.Good
	case operatorsv1alpha1.CSVPhaseFailed, operatorsv1alpha1.CSVPhaseUnknown:
		return chart.Bad
	case operatorsv1alpha1.CSVPhaseReplacing, operatorsv1alpha1.CSVPhaseDeleting:
		return chart.Idle
	default:
		return chart.Wait
	}
}

// phases are those in status.conditions, which has at most 20.
func (r rollout) phases() (bars []chart.Bar) {
	if r.csv == nil {
		return nil
	}
	first := chart.Bar{From: r.csv.CreationTimestamp.Time, Text: noPhase, Color: chart.Wait}
	if len(r.csv.Status.Conditions) >= operatorsv1alpha1.ConditionsLengthLimit {
		first.Text, first.Color = notRecorded, chart.Unknown
	}
	bars = append(bars, first)
	for _, c := range r.csv.Status.Conditions {
		last := &bars[len(bars)-1]
		if c.LastTransitionTime == nil || string(c.Phase) == last.Text {
			continue
		}
		last.To = c.LastTransitionTime.Time
		bars = append(bars, chart.Bar{From: last.To, Text: cmp.Or(string(c.Phase), noPhase), Color: phaseColor(c.Phase)})
	}
	bars[len(bars)-1].To = r.now
	return positive(bars)
}

// positive omits what did not last.
func positive(bars []chart.Bar) []chart.Bar {
	return lists.Filter(bars, func(b chart.Bar) bool { return !b.From.IsZero() && b.To.After(b.From) })
}

func instantOf(e Event) chart.Instant {
	i := chart.Instant{At: e.Time, Text: e.Reason + ": " + e.Message, Color: chart.Idle}
	if e.Warning {
		i.Color = chart.Bad
	}
	return i
}
