package failopen

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
)

// observe records since when the backend is unreachable. Two times count. Without a proof that the backend serves, an
// opening lasts, and the status has the outage. A webhook opens only after no endpoint was ready for the whole time.
func (d *decision) observe() {
	d.observeEndpoints()
	recorded := d.recordedSince()
	switch {
	case d.Settings == nil || !d.Registered:
		d.Memory.UnreachableSince = time.Time{}
		return
	case d.Backend == Serves:
		d.observeProof(!recorded.IsZero() || !d.Memory.UnreachableSince.IsZero())
		d.Memory.UnreachableSince, d.Memory.AwaitsProof = time.Time{}, false
		return
	case d.Backend == Ready && recorded.IsZero() && d.Memory.UnreachableSince.IsZero():
		return
	}
	if d.Memory.UnreachableSince.IsZero() {
		d.Memory.UnreachableSince = d.Now
	}
	d.since = recorded
	if recorded.IsZero() {
		d.since = d.Memory.UnreachableSince.Truncate(time.Second)
	}
}

// observeProof records a proof that the backend serves, if it ends an outage, or if the next opening waits for it.
func (d *decision) observeProof(outage bool) {
	now := metav1.NewTime(d.endOfSecond())
	switch over := d.timeOver(); {
	case outage, d.awaitsProof() && !over.After(now.Time):
		d.served = &now
	case d.awaitsProof():
		d.requeueAt(over) // The clock of the previous leader was ahead.
	}
}

// NeedsProof reports whether the decision depends on a proof that the backend serves, so that its endpoints must be dialled.
func (f Facts) NeedsProof() bool {
	d := &decision{Facts: f}
	d.merge()
	return !f.Memory.UnreachableSince.IsZero() || f.Record.IsOpen() || f.Record != nil && f.Record.UnreachableSince != nil || d.awaitsProof()
}

// awaitsProof is true after an opening that ended by time, until the backend has served.
func (d *decision) awaitsProof() bool {
	over := d.timeOver()
	return d.Memory.AwaitsProof || !over.IsZero() && (d.served == nil || d.served.Time.Before(over))
}

// timeOver returns when the last opening ended that ended by time; zero for none.
func (d *decision) timeOver() time.Time {
	for _, o := range slices.Backward(slices.Concat(d.openings, d.ahead)) {
		if o.ClosedBy == managerv1alpha1.ClosedTimeOver && o.Until != nil {
			return o.Until.Time
		}
	}
	return time.Time{}
}

// recordedSince ignores a time in the future.
func (d *decision) recordedSince() time.Time {
	if d.Record == nil || d.Record.UnreachableSince == nil || d.Record.UnreachableSince.After(d.Now) {
		return time.Time{}
	}
	return d.Record.UnreachableSince.Time
}

// Interrupted returns the memory after a time without decisions, in which endpoints may have been ready, and another client may
// have closed the webhook. If an opening lasts, the record and the configuration show it.
func (m Memory) Interrupted() Memory {
	m.UnreachableSince, m.NoEndpointSince, m.AskAt = time.Time{}, time.Time{}, time.Time{}
	m.Opened, m.LastOpen, m.Closing = time.Time{}, time.Time{}, ""
	m.Openings = slices.DeleteFunc(slices.Clone(m.Openings), func(o managerv1alpha1.Opening) bool { return o.ClosedBy == "" })
	return m
}
