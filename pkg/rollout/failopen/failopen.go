// Package failopen decides when a webhook opens whose backend is unreachable, and when it closes.
//
// An opening has three steps, so that each one is recorded before it begins and until it is over: the status records it,
// the webhook configuration has it, and the configuration does not have it any more.
package failopen

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
)

// Backend is what is known about the pods behind a webhook.
type Backend int

const (
	// Ready means that an endpoint is ready, and that nothing proves that it serves.
	Ready Backend = iota
	// Unreachable means that no endpoint is ready.
	Unreachable
	// Serves means that all endpoints serve, as before a registration.
	Serves
)

// Settings are what the administrator allows.
type Settings struct {
	// After is how long the backend must be unreachable before some requests pass.
	After time.Duration
	// AllAfter is how long it must be unreachable before all requests pass; zero for never.
	AllAfter time.Duration
	// For is how long the webhook may be open in any 24 hours.
	For time.Duration
	// Least is the shortest opening.
	Least time.Duration
	// AskEvery is the longest pause until the API server is asked again whether an endpoint is ready.
	AskEvery time.Duration
	// Requests is the CEL expression for the requests that pass first.
	Requests string
	// AllRequests is the CEL expression for the requests that pass later; empty for all.
	AllRequests string
}

// Memory is what this process knows of a webhook. Unlike a status, no other client can edit it.
type Memory struct {
	// UnreachableSince is since when this process has not observed a proof that the backend serves, after it was
	// unreachable. It is zero while the backend serves.
	UnreachableSince time.Time
	// NoEndpointSince is since when no endpoint is ready, in each decision of this process and in each answer of the API
	// server. It is zero if one is, and while nothing depends on it.
	NoEndpointSince time.Time
	// AskAt is when to ask the API server again whether an endpoint is ready; zero if it has not been asked.
	AskAt time.Time
	// Openings are the ones that this process has decided, or confirmed.
	Openings []managerv1alpha1.Opening
	// Opened is when this process decided the opening that lasts, or first observed it.
	Opened time.Time
	// LastOpen is when this process last observed that the configuration is open, in this opening.
	LastOpen time.Time
	// Closing is why the opening ends; empty while it lasts.
	Closing managerv1alpha1.ClosedBy
	// SeenClosed is when this process last observed that the configuration is closed.
	SeenClosed time.Time
	// Unrecorded is the beginning of an opening that had no record, until the configuration is closed.
	Unrecorded metav1.Time
	// OpenSeconds is how long all openings that have ended lasted.
	OpenSeconds int64
	// AwaitsProof is set after an opening that ended by time, until the backend is proved to serve.
	AwaitsProof bool
}

// Facts are what a decision depends on.
type Facts struct {
	Now time.Time
	// Settings are nil if the administrator does not allow an opening.
	Settings *Settings
	// Record is the status in the API server; nil for none.
	Record *managerv1alpha1.FailOpen
	Memory Memory
	// Registered is set if the webhook is registered as it is declared.
	Registered bool
	// Live is the state of the webhook configuration.
	Live managerv1alpha1.FailOpenState
	// LiveRequests is the CEL expression for the requests that pass by the configuration; empty for all.
	LiveRequests string
	// Created and Written are when the configuration was created and last written, by the clock of the API server.
	Created, Written time.Time
	// Settle is how long API servers may take to observe that the configuration is closed.
	Settle time.Duration

	Backend Backend
	// Confirmed is set if Backend is what the API server has just answered (see Answer.Counts), not what the caches show.
	Confirmed bool
}

// Decision is what follows from the facts.
type Decision struct {
	// Form is the state that the webhook configuration must have now.
	Form managerv1alpha1.FailOpenState
	// Record is the new status; nil for none.
	Record *managerv1alpha1.FailOpen
	Memory Memory
	// RequeueAt is when the decision may change although nothing else changes; zero for never.
	RequeueAt time.Time
	// NeedsConfirmation is set if the API server must be asked whether an endpoint is ready.
	NeedsConfirmation bool
}

// tolerance is by how much a clock may go back.
const tolerance = time.Minute

// Decide returns the form of a webhook and its record.
func Decide(f Facts) Decision {
	d := &decision{Facts: f}
	d.merge()
	d.observe()
	d.recordUnrecorded()
	if d.current() == nil {
		d.open()
	} else {
		d.continues()
	}
	return d.result()
}

type decision struct {
	Facts
	openings []managerv1alpha1.Opening // recorded and remembered, the oldest first
	ahead    []managerv1alpha1.Opening // that have ended, and begin in the future
	claimed  bool                      // the record has an opening that lasts, and begins in the future
	since    time.Time                 // of the outage, as people read it; zero without one
	served   *metav1.Time
	seconds  int64
	requeue  time.Time
	confirm  bool
}

// current returns the opening that lasts; nil for none.
func (d *decision) current() *managerv1alpha1.Opening {
	if n := len(d.openings); n > 0 && d.openings[n-1].ClosedBy == "" {
		return &d.openings[n-1]
	}
	return nil
}

func (d *decision) requeueAt(at time.Time) {
	if at.After(d.Now) && (d.requeue.IsZero() || at.Before(d.requeue)) {
		d.requeue = at
	}
}

// open begins an opening, in the record only.
func (d *decision) open() {
	s := d.Settings
	if d.since.IsZero() || d.Backend != Unreachable || d.awaitsProof() || d.isLiveOpen() {
		return
	}
	if limited, until := d.limits().reached(); limited {
		d.requeueAt(until)
		return
	}
	if d.waited() < s.After {
		d.requeueIn(s.After)
		return
	}
	if !d.Confirmed {
		d.confirm = true
		return
	}
	from := metav1.NewTime(d.Now.Truncate(time.Second))
	d.openings = append(d.openings, managerv1alpha1.Opening{From: from, Requests: s.Requests})
	d.Memory.Opened, d.Memory.LastOpen, d.Memory.Closing = d.Now, time.Time{}, ""
	d.widen()
	d.planEnd()
	d.remember()
	d.requeueAt(d.Now.Add(recordPause))
}

// recordPause is the pause until the caches show the record of an opening, or a written configuration.
const recordPause = 200 * time.Millisecond

// widen lets all requests pass if the administrator allows it, and the backend is unreachable for so long.
func (d *decision) widen() {
	s, opening := d.Settings, d.current()
	if s.AllAfter == 0 || opening.AllFrom != nil || d.Backend != Unreachable {
		return
	}
	switch {
	case d.waited() < s.AllAfter:
		d.requeueIn(s.AllAfter)
	case !d.Confirmed:
		d.confirm = true
	default:
		opening.AllFrom, opening.AllRequests = new(metav1.NewTime(d.Now.Truncate(time.Second))), s.AllRequests
		d.requeueAt(d.Now.Add(recordPause))
	}
}

// continues ends the opening, widens it, or lets it last.
func (d *decision) continues() {
	if d.Memory.Opened.IsZero() {
		d.Memory.Opened = d.Now
	}
	if d.isLiveOpen() {
		d.Memory.LastOpen = later(d.Memory.LastOpen, d.endOfSecond()) // without a monotonic time: Truncate removes it
	}
	if d.Memory.Closing == "" {
		d.Memory.Closing = d.closing()
	}
	if d.Memory.Closing != "" {
		d.close()
		return
	}
	d.widen()
	d.planEnd()
	d.remember()
}

// closing returns why the opening ends; empty if it lasts.
func (d *decision) closing() managerv1alpha1.ClosedBy {
	opening := d.current()
	switch {
	case d.Settings == nil:
		return managerv1alpha1.ClosedWithdrawn
	case d.isOver():
		return managerv1alpha1.ClosedTimeOver
	case !d.Registered, !d.isConfirmed():
		return managerv1alpha1.ClosedChanged
	case d.Backend == Serves:
		return managerv1alpha1.ClosedServed
	case opening.Requests != d.Settings.Requests, opening.AllFrom != nil && (d.Settings.AllAfter == 0 || opening.AllRequests != d.Settings.AllRequests):
		return managerv1alpha1.ClosedWithdrawn
	default:
		return ""
	}
}

// isOver also ends an opening after a step of the clock: the time that this process has measured counts, too.
func (d *decision) isOver() bool {
	from, end := d.current().From.Time, d.end()
	return !d.Now.Before(end) || d.Now.Sub(d.Memory.Opened) >= end.Sub(from) || d.Now.Before(from.Add(-tolerance))
}

// isConfirmed reports whether this process decided the opening, or the configuration shows it: a status alone opens nothing.
func (d *decision) isConfirmed() bool {
	return d.remembers(*d.current()) || d.isLiveOpen()
}

func (d *decision) isLiveOpen() bool { return width[d.Live] > 0 }

// remembers reports whether this process knows that the opening lasts.
func (d *decision) remembers(o managerv1alpha1.Opening) bool {
	n := len(d.Memory.Openings)
	return n > 0 && d.Memory.Openings[n-1].ClosedBy == "" && d.Memory.Openings[n-1].From.Equal(&o.From)
}

// close ends the record when the configuration is closed.
func (d *decision) close() {
	opening := d.current()
	if d.isLiveOpen() {
		d.remember()
		d.requeueAt(d.Now.Add(recordPause))
		return
	}
	until := metav1.NewTime(d.latestEnd())
	opening.Until, opening.ClosedBy = &until, d.Memory.Closing
	d.seconds += secondsOf(*opening)
	d.Memory.AwaitsProof = opening.ClosedBy == managerv1alpha1.ClosedTimeOver && d.Backend != Serves
	d.Memory.Opened, d.Memory.LastOpen, d.Memory.Closing = time.Time{}, time.Time{}, ""
	d.remember()
}

// latestEnd returns the end of the opening for the record: when the last API server observes that the webhook is closed. After a
// step of the clock back, it is not before the configuration was last observed open, nor before the time that this process has
// measured: the audit must have each object.
func (d *decision) latestEnd() time.Time {
	const roundsUp = time.Second - 1
	measured := d.current().From.Add(d.Now.Sub(d.Memory.Opened) + roundsUp).Truncate(time.Second)
	return later(later(later(endOfSecond(d.Now.Add(d.Settle)), d.current().From.Time), measured), d.Memory.LastOpen)
}

// remember stores the openings that count for the budget.
func (d *decision) remember() {
	d.Memory.Openings = nil
	for _, o := range slices.Concat(d.ahead, d.openings) {
		if o.ClosedBy == "" || o.Until != nil && d.Now.Sub(o.Until.Time) < day {
			d.Memory.Openings = append(d.Memory.Openings, *o.DeepCopy())
		}
	}
}

// planEnd records when the opening ends at the latest.
func (d *decision) planEnd() {
	end := d.end()
	d.current().Until = new(metav1.NewTime(end.Truncate(time.Second).Add(time.Second)))
	d.requeueAt(end)
}

func (d *decision) result() Decision {
	record := &managerv1alpha1.FailOpen{State: managerv1alpha1.FailOpenClosed, LastServedTime: d.served, OpenSeconds: d.seconds, Openings: d.newest()}
	if !d.since.IsZero() {
		record.UnreachableSince = new(metav1.NewTime(d.since))
	}
	if opening := d.current(); opening != nil {
		record.State = stateOf(*opening)
	}
	d.Memory.OpenSeconds = d.seconds
	result := Decision{Form: d.form(), Record: record, Memory: d.Memory, RequeueAt: d.requeue, NeedsConfirmation: d.confirm}
	if d.Settings == nil && len(record.Openings) == 0 {
		result.Record = nil
	}
	return result
}

func stateOf(o managerv1alpha1.Opening) managerv1alpha1.FailOpenState {
	if o.AllFrom != nil {
		return managerv1alpha1.FailOpenAll
	}
	return managerv1alpha1.FailOpenPartly
}

// form returns what the configuration must have: no more than what the API server has recorded, unless it has that already.
func (d *decision) form() managerv1alpha1.FailOpenState {
	opening := d.current()
	if opening == nil || d.Memory.Closing != "" {
		return managerv1alpha1.FailOpenClosed
	}
	return narrower(stateOf(*opening), wider(d.recordedState(), d.Live))
}

// recordedState returns the state of the opening in the status of the API server.
func (d *decision) recordedState() managerv1alpha1.FailOpenState {
	if !d.Record.IsOpen() {
		return managerv1alpha1.FailOpenClosed
	}
	recorded := d.Record.Openings[len(d.Record.Openings)-1]
	if !recorded.From.Equal(&d.current().From) {
		return managerv1alpha1.FailOpenClosed
	}
	return stateOf(recorded)
}

var width = map[managerv1alpha1.FailOpenState]int{managerv1alpha1.FailOpenPartly: 1, managerv1alpha1.FailOpenAll: 2}

func narrower(a, b managerv1alpha1.FailOpenState) managerv1alpha1.FailOpenState {
	if width[a] <= width[b] {
		return a
	}
	return b
}

func wider(a, b managerv1alpha1.FailOpenState) managerv1alpha1.FailOpenState {
	if width[a] >= width[b] {
		return a
	}
	return b
}
