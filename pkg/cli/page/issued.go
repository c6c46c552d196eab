package page

import (
	"fmt"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/page/chart"
)

// certificateRow begins when the manager wrote the certificate. It does not record when it wrote earlier ones.
func (r rollout) certificateRow() chart.Row {
	row := chart.Row{Name: "certificate"}
	c := r.status.Certificate
	if c == nil {
		return row
	}
	if c.LastUpdateTime == nil {
		row.Unknown = "another client wrote it at a time that is " + notRecorded
		return row
	}
	current := chart.Bar{From: c.LastUpdateTime.Time, To: r.now, Text: fmt.Sprintf("generation %d", c.Generation), Color: chart.Good}
	if c.NotAfter != nil && c.NotAfter.Time.Before(r.now) {
		current.To = c.NotAfter.Time
	}
	if c.Generation > 1 && r.csv != nil {
		earlier := chart.Bar{From: r.csv.CreationTimestamp.Time, To: current.From, Text: "earlier generations: " + notRecorded, Color: chart.Unknown}
		row.Bars = append(row.Bars, earlier)
	}
	row.Bars = positive(append(row.Bars, expired([]chart.Bar{current}, r.now)...))
	return row
}
