package page

import (
	"fmt"
	"time"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/page/chart"
)

// registrationRow begins with the creation of the registration. Of a conversion, the last write is recorded.
func (r rollout) registrationRow() chart.Row {
	row := chart.Row{Name: "registration"}
	since, state := r.webhook.LastTransitionTime, r.webhook.State
	if !r.written.IsZero() {
		row.Instants = append(row.Instants, chart.Instant{At: r.written, Text: "spec.conversion was written last", Color: chart.Good})
	}
	if !r.registered.IsZero() {
		row.Instants = append(row.Instants, chart.Instant{At: r.registered, Text: "the registration was created", Color: chart.Good})
	}
	if since == nil {
		row.Unknown = notRecorded
		return row
	}
	current := chart.Bar{From: since.Time, To: r.now, Text: r.stateText(), Color: stateColor(state)}
	if state == managerv1alpha1.WebhookUnreachable || state == managerv1alpha1.WebhookRegistered {
		row.Bars = append(row.Bars, r.registeredBefore(since.Time)...)
	}
	row.Bars = positive(append(row.Bars, current))
	return row
}

// registeredBefore is the interval between the registration and the last change of its state.
func (r rollout) registeredBefore(changed time.Time) []chart.Bar {
	if r.registered.IsZero() {
		return nil
	}
	return []chart.Bar{{From: r.registered, To: changed, Text: "registered; its state is " + notRecorded, Color: chart.Unknown}}
}

func (r rollout) stateText() string {
	if r.webhook.State == managerv1alpha1.WebhookWaiting && r.webhook.Reason != "" {
		return fmt.Sprintf("%s, now for %s", r.webhook.State, r.webhook.Reason)
	}
	return string(r.webhook.State)
}

func stateColor(state managerv1alpha1.WebhookState) chart.Color {
	switch state {
	case managerv1alpha1.WebhookRegistered:
		return chart.Good
	case managerv1alpha1.WebhookUnreachable, managerv1alpha1.WebhookBlocked:
		return chart.Bad
	case managerv1alpha1.WebhookDisabled:
		return chart.Idle
	default:
		return chart.Wait
	}
}
