package failopen

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// observe records since when the backend is unreachable. Two times count. Without a proof that the backend serves, an
// opening lasts, and the status has the outage. A webhook opens only after no endpoint was ready for the whole time.
func (d *decision) observe() {
	now := metav1.NewTime(d.endOfSecond())
	d.seconds = d.Memory.OpenSeconds
	if d.Record != nil {
		d.seconds = max(d.seconds, d.Record.OpenSeconds)
		if at := d.Record.LastServedTime; at != nil && !at.After(d.Now.Add(time.Second)) {
			d.served = at
		}
	}
	d.observeEndpoints()
	recorded := d.recordedSince()
	switch {
	case d.Settings == nil || !d.Registered:
		d.Memory.UnreachableSince = time.Time{}
		return
	case d.Backend == Serves:
		if !recorded.IsZero() || !d.Memory.UnreachableSince.IsZero() {
			d.served = &now
		}
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

// observeEndpoints begins or ends the time without a ready endpoint.
func (d *decision) observeEndpoints() {
	switch {
	case d.Settings == nil || !d.Registered || d.Backend != Unreachable:
		d.Memory.NoEndpointSince = time.Time{}
	case d.Memory.NoEndpointSince.IsZero():
		d.Memory.NoEndpointSince = d.Now
	}
}

// recordedSince ignores a time in the future.
func (d *decision) recordedSince() time.Time {
	if d.Record == nil || d.Record.UnreachableSince == nil || d.Record.UnreachableSince.After(d.Now) {
		return time.Time{}
	}
	return d.Record.UnreachableSince.Time
}

// waited returns for how long no endpoint has been ready while the backend is Unreachable. This process has observed it,
// and the record must not contradict: a restart, an edited or restored status, and a step of the clock do not shorten it.
func (d *decision) waited() time.Duration {
	return min(d.Now.Sub(d.since), d.Now.Sub(d.Memory.NoEndpointSince))
}

// requeueIn requeues when no endpoint has been ready for a time.
func (d *decision) requeueIn(wait time.Duration) { d.requeueAt(d.Now.Add(wait - d.waited())) }

// Interrupted returns the memory after a time without decisions, in which endpoints may have been ready.
func (m Memory) Interrupted() Memory {
	m.UnreachableSince, m.NoEndpointSince = time.Time{}, time.Time{}
	return m
}
