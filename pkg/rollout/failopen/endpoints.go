package failopen

import (
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
)

// longestDelay is by how much the API server may be asked later than planned. Otherwise, the time begins again: an endpoint may have
// been ready meanwhile.
const longestDelay = 10 * time.Second

// longestAge is for how long an answer of the API server counts. A reconciliation makes several decisions, and the writes between them
// can take long.
const longestAge = time.Second

// Answer is what the API server has answered about a Service.
type Answer struct {
	// Slices are all EndpointSlices of the Service.
	Slices []*discoveryv1.EndpointSlice
	// At is when the answer arrived.
	At time.Time
}

// Counts reports whether a decision can rest on the answer. Otherwise the API server must be asked again: an endpoint may have become
// ready meanwhile.
func (a Answer) Counts(now time.Time) bool { return now.Sub(a.At).Abs() <= longestAge }

// observeEndpoints begins, continues or ends the time without a ready endpoint. The caches lack EndpointSlices without a label, and
// may be late. So the API server is asked at the beginning, and again and again while the time counts.
func (d *decision) observeEndpoints() {
	m := &d.Memory
	switch {
	case !d.counts(), d.Backend != Unreachable && !d.Confirmed:
		m.NoEndpointSince, m.AskAt = time.Time{}, time.Time{}
	case d.Confirmed:
		d.observeAnswer()
	case m.AskAt.IsZero() || !d.Now.Before(m.AskAt):
		d.confirm = true
	case m.NoEndpointSince.IsZero():
		d.Backend = Ready // as the API server has just answered
		d.requeueAt(m.AskAt)
	default:
		d.requeueAt(m.AskAt)
	}
}

// observeAnswer also lets the time begin again if the previous answer is too old.
func (d *decision) observeAnswer() {
	m := &d.Memory
	switch {
	case d.Backend != Unreachable:
		m.NoEndpointSince = time.Time{}
	case m.NoEndpointSince.IsZero(), d.Now.Sub(m.AskAt) > longestDelay:
		m.NoEndpointSince = d.Now
	}
	m.AskAt = d.Now.Add(d.Settings.pause(d.Now))
	d.requeueAt(m.AskAt)
}

// pause returns the time until the next question: AskEvery, or less by up to one half. No other client knows the microseconds of a
// decision, so that no client can remove a ready endpoint only for the moments of the questions.
func (s Settings) pause(now time.Time) time.Duration {
	half, microseconds := s.AskEvery.Microseconds()/2, int64(now.Nanosecond()/1000)
	return s.AskEvery - time.Duration(half*(microseconds%1000))*time.Nanosecond
}

// counts reports whether the time without a ready endpoint can lead to an opening, or to its second stage.
func (d *decision) counts() bool {
	if d.Settings == nil || !d.Registered {
		return false
	}
	if opening := d.current(); opening != nil {
		return d.Settings.AllAfter > 0 && opening.AllFrom == nil
	}
	limited, _ := d.limits().reached()
	return !limited && !d.awaitsProof() && !d.isLiveOpen()
}

// waited returns for how long no endpoint has been ready while the backend is Unreachable. This process has observed it,
// and the record must not contradict: a restart, an edited or restored status, and a step of the clock do not shorten it.
func (d *decision) waited() time.Duration {
	if d.Memory.NoEndpointSince.IsZero() {
		return 0
	}
	return min(d.Now.Sub(d.since), d.Now.Sub(d.Memory.NoEndpointSince))
}

// requeueIn requeues when no endpoint has been ready for a time.
func (d *decision) requeueIn(wait time.Duration) { d.requeueAt(d.Now.Add(wait - d.waited())) }
