package failopen

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
)

// recordUnrecorded records an opening that only the configuration shows: its record was deleted, or another client opened the
// webhook. It is recorded as ended, because the configuration is closed now, and its end is corrected when that is done.
func (d *decision) recordUnrecorded() {
	switch {
	case !d.isLiveOpen():
		d.endUnrecorded()
		d.Memory.SeenClosed = d.Now
	case d.current() == nil && d.Memory.Unrecorded.IsZero():
		o := d.unrecorded()
		d.Memory.Unrecorded = o.From
		d.Memory.AwaitsProof = d.Memory.AwaitsProof || o.ClosedBy == managerv1alpha1.ClosedTimeOver
		d.seconds += secondsOf(o)
		d.openings = append(d.openings, o)
		d.remember()
	}
}

// unrecorded returns the opening that the configuration shows. It begins as early as possible: the audit must have each
// object, and the time that was used is not known.
func (d *decision) unrecorded() managerv1alpha1.Opening {
	longest := day
	if d.Settings != nil {
		longest = d.Settings.For
	}
	from := later(later(d.Created, d.Written.Add(-longest)), d.Memory.SeenClosed)
	if n := len(d.openings); n > 0 {
		from = later(from, d.openings[n-1].Until.Time)
	}
	if from.After(d.Now) {
		from = d.Now
	}
	o := managerv1alpha1.Opening{
		From: metav1.NewTime(from.Truncate(time.Second)), Until: new(metav1.NewTime(d.endOfSecond())),
		Requests: d.LiveRequests, ClosedBy: managerv1alpha1.ClosedChanged,
	}
	if d.Live == managerv1alpha1.FailOpenAll {
		o.AllFrom, o.AllRequests = new(o.From), d.LiveRequests
	}
	if d.claimed {
		o.ClosedBy = managerv1alpha1.ClosedTimeOver
	}
	return o
}

// endUnrecorded corrects the end of an opening without a record, when the configuration is closed.
func (d *decision) endUnrecorded() {
	for i := range d.openings {
		o := &d.openings[i]
		if until := endOfSecond(d.Now.Add(d.Settle)); o.From.Equal(&d.Memory.Unrecorded) && o.ClosedBy != "" && o.Until.Time.Before(until) {
			d.seconds -= secondsOf(*o)
			o.Until = new(metav1.NewTime(until))
			d.seconds += secondsOf(*o)
			d.remember()
		}
	}
	d.Memory.Unrecorded = metav1.Time{}
}

// secondsOf returns how long an opening lasted that has ended.
func secondsOf(o managerv1alpha1.Opening) int64 {
	return int64(max(0, o.Until.Sub(o.From.Time)) / time.Second)
}

// endOfSecond is the time of the decision in whole seconds, or later.
func (d *decision) endOfSecond() time.Time { return endOfSecond(d.Now) }

func endOfSecond(t time.Time) time.Time { return t.Truncate(time.Second).Add(time.Second) }
