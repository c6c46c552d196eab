package failopen

import (
	"cmp"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// webhook is a webhook with a manager that carries out each decision, unless a test says otherwise.
type webhook struct {
	t        *testing.T
	now      time.Time
	settings *Settings
	record   *managerv1alpha1.FailOpen
	memory   Memory
	live     managerv1alpha1.FailOpenState
	backend  Backend
	changed  bool
	created  time.Time // the configuration
	written  time.Time // the configuration
	// alive is what the API server answers, although the caches show no endpoint.
	alive bool
	// stuck is set if the configuration cannot be written.
	stuck bool
	asked int // how often the API server was asked
	last  Decision
}

func newWebhook(t *testing.T) *webhook {
	return &webhook{t: t, now: noon, created: noon.Add(-48 * time.Hour), written: noon.Add(-48 * time.Hour), live: managerv1alpha1.FailOpenClosed, settings: &Settings{
		After: 5 * time.Minute, AllAfter: 15 * time.Minute, For: time.Hour, Least: 30 * time.Second, AskEvery: 10 * time.Second, Requests: "nodes",
	}}
}

func (w *webhook) decide(confirmed bool) Decision {
	f := Facts{
		Now: w.now, Settings: w.settings, Record: w.record.DeepCopy(), Memory: w.memory,
		Registered: !w.changed, Live: w.live, LiveRequests: "live", Created: w.created, Written: w.written, Backend: w.backend, Confirmed: confirmed,
	}
	if confirmed && w.alive {
		f.Backend = Ready
	}
	if f.Backend == Serves && !f.NeedsProof() {
		f.Backend = Ready // the manager dials no endpoint
	}
	return Decide(f)
}

// reconcile carries out decisions until nothing changes: it asks, writes the configuration, and then the record.
func (w *webhook) reconcile() {
	w.t.Helper()
	for range 10 {
		d := w.decide(false)
		if d.NeedsConfirmation {
			w.asked++
			d = w.decide(true)
		}
		w.last = d
		same := d.Form == w.live && fmt.Sprint(w.record) == fmt.Sprint(d.Record)
		if !w.stuck && w.live != d.Form {
			w.live, w.written = d.Form, w.now
		}
		w.record, w.memory = d.Record, d.Memory
		if same || w.stuck {
			return
		}
	}
	w.t.Fatalf("the decisions do not end: %+v", w.record)
}

// pass lets time pass. The manager reconciles when the decision requires it.
func (w *webhook) pass(d time.Duration) {
	w.t.Helper()
	until := w.now.Add(d)
	for !w.last.RequeueAt.IsZero() && w.last.RequeueAt.After(w.now) && w.last.RequeueAt.Before(until) {
		w.now = w.last.RequeueAt
		w.reconcile()
	}
	w.now = until
	w.reconcile()
}

func (w *webhook) restart() {
	w.memory = Memory{}
	w.reconcile()
}

func (w *webhook) is(what string, state managerv1alpha1.FailOpenState, openings ...string) {
	w.t.Helper()
	installtest.Same(w.t, what+": the configuration", state, w.live)
	var got []string
	if w.record != nil {
		installtest.Same(w.t, what+": the record", state, w.record.State)
		for _, o := range w.record.Openings {
			text := o.From.UTC().Format("15:04:05")
			if o.AllFrom != nil {
				text += " all " + o.AllFrom.UTC().Format("15:04:05")
			}
			got = append(got, strings.TrimSpace(fmt.Sprintf("%s to %s %s", text, o.Until.UTC().Format("15:04:05"), o.ClosedBy)))
		}
	}
	installtest.Same(w.t, what+": the openings", openings, got)
}

const (
	closed = managerv1alpha1.FailOpenClosed
	partly = managerv1alpha1.FailOpenPartly
	all    = managerv1alpha1.FailOpenAll
)

func (w *webhook) becomes(b Backend) {
	w.backend = b
	w.reconcile()
}

func TestOpensAndCloses(t *testing.T) {
	w := newWebhook(t)
	w.becomes(Unreachable)
	w.is("at first", closed)
	w.pass(5*time.Minute - time.Second)
	w.is("before the time", closed)
	w.pass(time.Second)
	w.is("after 5 minutes", partly, "12:05:00 to 13:05:01")
	w.pass(10*time.Minute - time.Second)
	w.is("before the time for all", partly, "12:05:00 to 13:05:01")
	w.pass(time.Second)
	w.is("after 15 minutes", all, "12:05:00 all 12:15:00 to 13:05:01")
	w.becomes(Ready)
	w.is("while an endpoint is ready and nothing proves that it serves", all, "12:05:00 all 12:15:00 to 13:05:01")
	w.becomes(Serves)
	w.is("when it serves", closed, "12:05:00 all 12:15:00 to 12:15:01 Served")
	installtest.Same(t, "open seconds", 601, w.record.OpenSeconds)
	installtest.Same(t, "since", nil, w.record.UnreachableSince)
}

func TestCloses(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*webhook)
		state  managerv1alpha1.FailOpenState
		by     managerv1alpha1.ClosedBy
	}{
		"nothing":              {func(*webhook) {}, partly, ""},
		"withdrawn":            {func(w *webhook) { w.settings = nil }, closed, managerv1alpha1.ClosedWithdrawn},
		"changed":              {func(w *webhook) { w.changed = true }, closed, managerv1alpha1.ClosedChanged},
		"it serves":            {func(w *webhook) { w.backend = Serves }, closed, managerv1alpha1.ClosedServed},
		"the time is over":     {func(w *webhook) { w.now = w.now.Add(time.Hour) }, closed, managerv1alpha1.ClosedTimeOver},
		"less time is allowed": {func(w *webhook) { w.settings.For = time.Second; w.now = w.now.Add(time.Second) }, closed, managerv1alpha1.ClosedTimeOver},
		"an hour later, allowed 2h": {func(w *webhook) {
			w.settings.For = 2 * time.Hour
			w.settings.AllAfter = 0
			w.now = w.now.Add(time.Hour)
		}, partly, ""},
		"the clock goes back": {func(w *webhook) { w.now = w.now.Add(-time.Hour) }, closed, managerv1alpha1.ClosedTimeOver},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWebhook(t)
			w.becomes(Unreachable)
			w.pass(5 * time.Minute)
			w.is("first", partly, "12:05:00 to 13:05:01")
			test.change(w)
			w.reconcile()
			installtest.Same(t, "the configuration", test.state, w.live)
			installtest.Same(t, "closed by", test.by, w.record.Openings[0].ClosedBy)
		})
	}
}

// An opening of other requests is another opening. The time before it counts only if the API server was asked meanwhile.
func TestOtherRequests(t *testing.T) {
	w := newWebhook(t)
	w.becomes(Unreachable)
	w.pass(20 * time.Minute)
	w.settings.AllAfter = 0
	w.reconcile()
	w.is("not for all any more", closed, "12:05:00 all 12:15:00 to 12:20:01 Withdrawn")
	w.pass(5 * time.Minute)
	w.is("5 minutes later", partly, "12:05:00 all 12:15:00 to 12:20:01 Withdrawn", "12:25:00 to 13:10:00")

	w = newWebhook(t)
	w.becomes(Unreachable)
	w.pass(6 * time.Minute)
	w.settings.Requests = "others"
	w.reconcile()
	w.is("for others, while it is not open for all", partly, "12:05:00 to 12:06:01 Withdrawn", "12:06:00 to 13:05:00")
}

func TestNotOpened(t *testing.T) {
	for name, change := range map[string]func(*webhook){
		"not allowed":                              func(w *webhook) { w.settings = nil },
		"changed":                                  func(w *webhook) { w.changed = true },
		"an endpoint is ready":                     func(w *webhook) { w.backend = Ready },
		"the API server knows a ready endpoint":    func(w *webhook) { w.alive = true },
		"the status claims an older outage":        func(w *webhook) { w.memory, w.record = Memory{}, since(noon.Add(-time.Hour)) },
		"the status claims an outage later":        func(w *webhook) { w.record = since(w.now.Add(time.Hour)); w.memory = Memory{} },
		"the status claims an opening":             func(w *webhook) { w.memory, w.record = Memory{}, openSince(w.now.Add(-time.Minute)) },
		"the status claims an opening of the past": func(w *webhook) { w.memory, w.record = Memory{}, openSince(w.now.Add(-48*time.Hour)) },
		"the status claims a later opening":        func(w *webhook) { w.memory, w.record = Memory{}, openSince(w.now.Add(48*time.Hour)) },
		"restarted":                                func(w *webhook) { w.memory = Memory{} },
		"served for a moment":                      func(w *webhook) { w.becomes(Serves); w.backend = Unreachable },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWebhook(t)
			w.becomes(Unreachable)
			w.pass(5*time.Minute - time.Second)
			change(w)
			w.reconcile()
			installtest.Same(t, "the configuration at once", closed, w.live)
			w.now = w.now.Add(time.Second)
			w.reconcile()
			installtest.Same(t, "the configuration", closed, w.live)
			installtest.Same(t, "open", false, w.record.IsOpen())
		})
	}
}

func since(at time.Time) *managerv1alpha1.FailOpen {
	return &managerv1alpha1.FailOpen{State: closed, UnreachableSince: new(metav1.NewTime(at))}
}

func openSince(at time.Time) *managerv1alpha1.FailOpen {
	return &managerv1alpha1.FailOpen{State: all, UnreachableSince: new(metav1.NewTime(at)), Openings: []managerv1alpha1.Opening{
		{From: metav1.NewTime(at), AllFrom: new(metav1.NewTime(at)), Until: new(metav1.NewTime(at.Add(100 * time.Hour))), Requests: "nodes"},
	}}
}

// Only the time without a ready endpoint counts for an opening and for its second stage. Ready endpoints that the manager cannot
// dial end it, because of a NetworkPolicy or of one pod of several.
func TestOnlyTimeWithoutEndpointsCounts(t *testing.T) {
	shortOutage := func(w *webhook) {
		w.becomes(Unreachable)
		w.pass(10 * time.Second)
		w.becomes(Ready)
	}
	for name, test := range map[string]struct {
		before func(*webhook)
		ready  time.Duration
	}{
		"endpoints are ready a day":        {shortOutage, 24 * time.Hour},
		"endpoints are ready for a moment": {func(w *webhook) { w.becomes(Unreachable); w.pass(4 * time.Minute); w.becomes(Ready) }, 0},
		"again and again": {func(w *webhook) {
			for range 100 {
				shortOutage(w)
				w.pass(10 * time.Minute)
			}
		}, time.Minute},
		"the status claims an outage":         {func(w *webhook) { w.record = since(noon.Add(-time.Hour)); w.becomes(Ready) }, time.Hour},
		"restarted while endpoints are ready": {func(w *webhook) { shortOutage(w); w.pass(time.Hour); w.restart() }, time.Hour},
		"no decision was made for a day": {func(w *webhook) {
			w.becomes(Unreachable)
			w.memory, w.now = w.memory.Interrupted(), w.now.Add(24*time.Hour)
		}, 0},
		"each reconciliation fails after its decision": {func(w *webhook) {
			w.becomes(Unreachable)
			w.backend = Ready
			for range 60 {
				w.now = w.now.Add(time.Minute)
				w.memory = w.decide(false).Memory // the status is not written
			}
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWebhook(t)
			test.before(w)
			w.pass(test.ready)
			w.is("before", closed)
			w.becomes(Unreachable)
			w.is("one moment after the endpoints are lost", closed)
			lost := w.now
			w.pass(5*time.Minute - time.Second)
			w.is("before the time", closed)
			w.pass(time.Second)
			installtest.Same(t, "the configuration in time", partly, w.live)
			w.pass(10*time.Minute - time.Second)
			installtest.Same(t, "before the time for all", partly, w.live)
			w.pass(time.Second)
			installtest.Same(t, "in time for all", all, w.live)
			installtest.Same(t, "the time of the opening", lost.Add(5*time.Minute), w.record.Openings[0].From.UTC())
		})
	}
}

// An opening lasts while endpoints are ready and not proved to serve. They delay its second stage.
func TestReadyEndpointsDelayTheSecondStage(t *testing.T) {
	w := newWebhook(t)
	w.becomes(Unreachable)
	w.pass(14 * time.Minute)
	w.becomes(Ready)
	w.pass(10 * time.Minute)
	w.becomes(Unreachable)
	w.is("one moment after the endpoints are lost again", partly, "12:05:00 to 13:05:01")
	w.pass(15*time.Minute - time.Second)
	w.is("before the time for all", partly, "12:05:00 to 13:05:01")
	w.pass(time.Second)
	w.is("in time for all", all, "12:05:00 all 12:39:00 to 13:05:01")
}

// Without the answer of the API server, a decision opens nothing.
func TestNeedsConfirmation(t *testing.T) {
	w := newWebhook(t)
	w.becomes(Unreachable)
	w.pass(5*time.Minute - time.Second)
	w.now = w.now.Add(time.Second)
	d := w.decide(false)
	installtest.Same(t, "asks", true, d.NeedsConfirmation)
	installtest.Same(t, "open", false, d.Record.IsOpen())
	d = w.decide(true)
	installtest.Same(t, "asks again", false, d.NeedsConfirmation)
	installtest.Same(t, "the record", partly, d.Record.State)
	installtest.Same(t, "the configuration until the record is written", closed, d.Form)
}

// A configuration that cannot be written is reported as it is.
func TestNotWritten(t *testing.T) {
	w := newWebhook(t)
	w.becomes(Unreachable)
	w.pass(5 * time.Minute)
	w.settings.AllAfter, w.stuck = 0, true
	w.pass(2 * time.Hour)
	w.is("while it cannot be closed", partly, "12:05:00 to 13:05:01")
	w.stuck = false
	w.pass(time.Second)
	w.is("at last", closed, "12:05:00 to 14:05:01 TimeOver")
}

// After an opening that ended by time, the backend must have served.
func TestAfterTimeOver(t *testing.T) {
	w := newWebhook(t)
	w.becomes(Unreachable)
	w.pass(48 * time.Hour)
	w.is("two days later", closed, "12:05:00 all 12:15:00 to 13:05:01 TimeOver")
	w.becomes(Ready)
	w.becomes(Unreachable)
	w.pass(time.Hour)
	w.is("an endpoint was ready", closed, "12:05:00 all 12:15:00 to 13:05:01 TimeOver")
	w.restart()
	w.pass(48 * time.Hour)
	w.is("after a restart", closed, "12:05:00 all 12:15:00 to 13:05:01 TimeOver")
	w.becomes(Serves)
	w.becomes(Unreachable)
	w.pass(5 * time.Minute)
	installtest.Same(t, "the configuration in the next outage", partly, w.live)
}

// A proof counts after an opening that ended by time, also if no outage is recorded any more.
func TestProofWithoutAnOutage(t *testing.T) {
	for name, between := range map[string]func(*webhook){
		"nothing else":                func(*webhook) {},
		"the webhook is changed":      func(w *webhook) { w.changed = true; w.reconcile(); w.changed = false },
		"withdrawn and allowed again": func(w *webhook) { s := w.settings; w.settings = nil; w.reconcile(); w.settings = s },
		"changed, and restarted":      func(w *webhook) { w.changed = true; w.reconcile(); w.changed = false; w.restart() },
		"restarted while changed":     func(w *webhook) { w.changed = true; w.restart(); w.changed = false },
		"changed, and no decision is made for a time": func(w *webhook) {
			w.changed = true
			w.reconcile()
			w.changed, w.memory = false, w.memory.Interrupted()
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWebhook(t)
			w.becomes(Unreachable)
			w.pass(2 * time.Hour)
			w.is("the time is over", closed, "12:05:00 all 12:15:00 to 13:05:01 TimeOver")
			between(w)
			w.becomes(Ready)
			w.pass(48 * time.Hour)
			w.becomes(Unreachable)
			w.pass(time.Hour)
			installtest.Same(t, "without a proof", closed, w.live)
			between(w)
			w.becomes(Serves)
			proved := w.record.DeepCopy()
			w.pass(48 * time.Hour)
			installtest.Same(t, "the record, while it serves", proved, w.record)
			w.becomes(Unreachable)
			w.pass(5*time.Minute - time.Second)
			installtest.Same(t, "before the time, in the next outage", closed, w.live)
			w.pass(time.Second)
			installtest.Same(t, "in the next outage", partly, w.live)
		})
	}
}

// The opening ended by a clock that was ahead. Only a proof after that time counts, and waiting for it writes nothing.
func TestProofBeforeTheTimeIsOver(t *testing.T) {
	w := newWebhook(t)
	w.record = &managerv1alpha1.FailOpen{Openings: []managerv1alpha1.Opening{
		{From: metav1.NewTime(noon.Add(time.Minute)), Until: new(metav1.NewTime(noon.Add(2 * time.Minute))), ClosedBy: managerv1alpha1.ClosedTimeOver},
	}}
	w.becomes(Serves)
	before := w.record.DeepCopy()
	w.now = w.now.Add(time.Minute)
	w.reconcile()
	installtest.Same(t, "the record before", before, w.record)
	w.pass(10 * time.Minute)
	installtest.Same(t, "served", noon.Add(2*time.Minute+time.Second), w.record.LastServedTime.UTC())
}

// The time of all openings within 24 hours counts, and so does their number. A restart of the manager changes neither.
func TestBudget(t *testing.T) {
	for name, test := range map[string]struct {
		open     time.Duration // how long the backend is lost after the webhook opens
		restarts bool
		openings int
		total    time.Duration
	}{
		"long openings":                {4 * time.Minute, false, 15, time.Hour},
		"long openings and restarts":   {4 * time.Minute, true, 15, time.Hour},
		"longer openings and restarts": {2*time.Minute + 30*time.Second, true, mostOpenings, 50 * time.Minute},
		"short openings":               {20 * time.Second, false, mostOpenings, 7 * time.Minute},
		"short openings and restarts":  {20 * time.Second, true, mostOpenings, 7 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWebhook(t)
			w.settings.AllAfter = 0
			for w.now.Before(noon.Add(20 * time.Hour)) {
				w.becomes(Unreachable)
				w.pass(5*time.Minute + test.open)
				w.becomes(Serves)
				w.pass(10 * time.Second)
				if test.restarts {
					w.restart()
				}
				if used := (limits{openings: w.record.Openings}).used(w.now); used > w.settings.For+time.Second { // The end is recorded in whole seconds.
					t.Fatalf("%s in the 24 hours before %s", used, w.now)
				}
			}
			if n := len(w.record.Openings); n < test.openings || n > mostOpenings {
				t.Errorf("%d openings", n)
			}
			total := time.Duration(w.record.OpenSeconds) * time.Second
			if total < test.total-time.Minute || total > test.total+time.Minute {
				t.Errorf("open for %s in all", total)
			}
			w.becomes(Unreachable)
			w.pass(10 * time.Minute)
			installtest.Same(t, "the next outage", closed, w.live)
			w.pass(24 * time.Hour)
			installtest.Same(t, "the openings after a day", true, w.record.Openings[len(w.record.Openings)-1].From.After(noon.Add(20*time.Hour)))
		})
	}
}

// The openings in the status are an administrator's record. A client that empties them gains no time.
func TestEditedRecord(t *testing.T) {
	w := newWebhook(t)
	w.becomes(Unreachable)
	w.pass(50 * time.Minute)
	w.becomes(Serves)
	w.record = nil
	w.becomes(Unreachable)
	w.pass(2 * time.Hour)
	w.is("without the record", closed, "12:05:00 all 12:15:00 to 12:50:01 Served", "12:55:00 all 13:05:00 to 13:10:00 TimeOver")
	w.record.Openings = nil
	w.pass(time.Second)
	w.is("without the openings", closed, "12:05:00 all 12:15:00 to 12:50:01 Served", "12:55:00 all 13:05:00 to 13:10:00 TimeOver")
}

// An edit during an opening neither widens nor prolongs it, and does not end it.
func TestEditedWhileOpen(t *testing.T) {
	for name, edit := range map[string]func(*managerv1alpha1.FailOpen){
		"widened":       func(r *managerv1alpha1.FailOpen) { r.Openings[0].AllFrom, r.State = new(metav1.NewTime(noon)), all },
		"prolonged":     func(r *managerv1alpha1.FailOpen) { r.Openings[0].Until = new(metav1.NewTime(noon.Add(48 * time.Hour))) },
		"emptied":       func(r *managerv1alpha1.FailOpen) { *r = managerv1alpha1.FailOpen{State: closed} },
		"an older one":  func(r *managerv1alpha1.FailOpen) { r.UnreachableSince = new(metav1.NewTime(noon.Add(-time.Hour))) },
		"other request": func(r *managerv1alpha1.FailOpen) { r.Openings[0].Requests = "true" },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWebhook(t)
			w.becomes(Unreachable)
			w.pass(6 * time.Minute)
			edit(w.record)
			w.reconcile()
			w.is("after the edit", partly, "12:05:00 to 13:05:01")
			w.pass(9 * time.Minute)
			w.is("at its time", all, "12:05:00 all 12:15:00 to 13:05:01")
		})
	}
}

func TestRestart(t *testing.T) {
	w := newWebhook(t)
	w.becomes(Unreachable)
	w.pass(6 * time.Minute)
	w.now = w.now.Add(time.Minute)
	w.restart()
	w.is("an opening in the configuration lasts", partly, "12:05:00 to 13:05:01")
	w.pass(9 * time.Minute)
	w.is("it is widened by what the new process has observed", partly, "12:05:00 to 13:05:01")
	w.pass(6 * time.Minute)
	w.is("then", all, "12:05:00 all 12:22:00 to 13:05:01")
	w.memory, w.live = Memory{}, closed
	w.reconcile()
	w.is("a status whose configuration is closed opens nothing", closed, "12:05:00 all 12:22:00 to 12:22:01 Changed")
}

func TestClock(t *testing.T) {
	w := newWebhook(t)
	w.becomes(Unreachable)
	w.now = w.now.Add(-time.Hour)
	w.reconcile()
	w.pass(time.Minute)
	w.is("an hour back", closed)
	w.pass(2 * time.Hour)
	installtest.Same(t, "later", true, len(w.record.Openings) > 0)
}

// The clock of the previous leader was ahead. The audit finds its opening, and the budget counts it.
func TestOpeningOfAClockThatWasAhead(t *testing.T) {
	for name, test := range map[string]struct {
		ahead    time.Duration
		by       managerv1alpha1.ClosedBy
		live     managerv1alpha1.FailOpenState
		openings []string
	}{
		"ended":                           {2 * time.Minute, managerv1alpha1.ClosedServed, closed, []string{"12:02:00 to 12:03:00 Served"}},
		"ended a moment ahead":            {time.Second, managerv1alpha1.ClosedServed, closed, []string{"12:00:01 to 12:01:01 Served"}},
		"lasts, and is open":              {2 * time.Minute, "", partly, []string{"11:00:00 to 12:00:01 TimeOver"}},
		"lasts, and is closed":            {2 * time.Minute, "", closed, []string{"12:02:00 to 12:02:00 TimeOver"}},
		"lasts a moment ahead, is open":   {30 * time.Second, "", partly, []string{"12:00:30 to 13:00:31"}},
		"lasts a moment ahead, closed":    {30 * time.Second, "", closed, []string{"12:00:30 to 12:00:30 Changed"}},
		"later than clocks differ":        {48 * time.Hour, managerv1alpha1.ClosedServed, closed, nil},
		"lasts, later than clocks differ": {48 * time.Hour, "", closed, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWebhook(t)
			w.backend, w.live, w.written = Ready, test.live, noon
			from := metav1.NewTime(noon.Add(test.ahead))
			w.record = &managerv1alpha1.FailOpen{Openings: []managerv1alpha1.Opening{
				{From: from, Until: new(metav1.NewTime(from.Add(time.Minute))), ClosedBy: test.by, Requests: "nodes"},
			}}
			w.reconcile()
			w.reconcile()
			w.is("in the record", w.live, test.openings...)
			if w.record.IsOpen() {
				return
			}
			for range 3 {
				w.pass(time.Minute)
			}
			w.is("when the clock is there", closed, test.openings...)
		})
	}
}

// An opening of the future does not hide the one that lasts.
func TestOpensAfterAClockWasAhead(t *testing.T) {
	w := newWebhook(t)
	w.becomes(Unreachable)
	w.pass(20 * time.Minute)
	w.becomes(Serves)
	w.now = noon.Add(-time.Hour)
	w.becomes(Unreachable)
	w.pass(6 * time.Minute)
	w.is("an hour back", partly, "12:05:00 all 12:15:00 to 12:20:01 Served", "11:05:00 to 11:50:00")
	w.restart()
	w.is("restarted", partly, "12:05:00 all 12:15:00 to 12:20:01 Served", "11:05:00 to 11:50:00")
	w.becomes(Serves)
	w.pass(2 * time.Hour)
	w.is("when the clock is there", closed, "11:05:00 to 11:06:01 Served", "12:05:00 all 12:15:00 to 12:20:01 Served")
}

// A webhook that ends an opening before it begins, by clocks that differ, keeps it in the record.
func TestEndsBeforeItBegins(t *testing.T) {
	w := newWebhook(t)
	w.becomes(Unreachable)
	w.pass(6 * time.Minute)
	w.now = noon.Add(4*time.Minute + 30*time.Second)
	w.becomes(Serves)
	w.is("half a minute back", closed, "12:05:00 to 12:06:01 Served")
	w.restart()
	w.is("restarted", closed, "12:05:00 to 12:06:01 Served")
}

// An opening that only the configuration shows is closed and recorded. Its time is the longest possible.
func TestOpeningWithoutARecord(t *testing.T) {
	for name, test := range map[string]struct {
		change   func(*webhook)
		openings []string
	}{
		"the record is deleted, and the manager restarts": {func(w *webhook) { w.record = nil; w.restart() },
			[]string{"11:15:00 all 11:15:00 to 12:20:01 Changed"}},
		"nothing is allowed any more": {func(w *webhook) { w.record, w.settings = nil, nil; w.restart() },
			[]string{"12:15:00 all 12:15:00 to 12:20:01 Changed"}},
		"the record is deleted": {func(w *webhook) { w.record = nil; w.reconcile(); w.becomes(Serves) },
			[]string{"12:05:00 all 12:15:00 to 12:20:01 Served"}},
		"the configuration was created in between": {func(w *webhook) { w.record = nil; w.created = noon.Add(10 * time.Minute); w.restart() },
			[]string{"12:10:00 all 12:10:00 to 12:20:01 Changed"}},
		"another client opens it again": {func(w *webhook) {
			w.becomes(Serves)
			w.pass(time.Hour)
			w.now = w.now.Add(time.Minute)
			w.live, w.written = partly, w.now
			w.reconcile()
		}, []string{"12:05:00 all 12:15:00 to 12:20:01 Served", "13:20:00 to 13:21:01 Changed"}},
		"another client opens it, and the manager restarts": {func(w *webhook) {
			w.becomes(Serves)
			w.pass(30 * time.Minute)
			w.now = w.now.Add(time.Minute)
			w.live, w.written = partly, w.now
			w.restart()
		}, []string{"12:05:00 all 12:15:00 to 12:20:01 Served", "12:20:01 to 12:51:01 Changed"}},
		"another client opens it when it may open": {func(w *webhook) {
			w.becomes(Serves)
			w.becomes(Unreachable)
			w.pass(5*time.Minute - time.Second)
			w.now = w.now.Add(time.Second)
			w.live, w.written = partly, w.now
			w.reconcile()
			w.pass(5 * time.Minute)
			w.becomes(Serves)
		}, []string{"12:05:00 all 12:15:00 to 12:20:01 Served", "12:24:59 to 12:25:01 Changed", "12:30:00 to 12:30:01 Served"}},
		"it cannot be closed at once": {func(w *webhook) {
			w.record, w.stuck = nil, true
			w.restart()
			for range 3 {
				w.pass(time.Minute)
			}
			w.stuck = false
			w.reconcile()
		}, []string{"11:15:00 all 11:15:00 to 12:23:01 Changed"}},
		"the status is not written": {func(w *webhook) {
			w.record, w.memory = nil, Memory{}
			d := w.decide(false)
			w.live, w.memory = d.Form, d.Memory
			w.memory = w.decide(false).Memory
			w.reconcile()
		}, []string{"11:15:00 all 11:15:00 to 12:20:01 Changed"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWebhook(t)
			w.becomes(Unreachable)
			w.pass(20 * time.Minute)
			installtest.Same(t, "open", all, w.live)
			test.change(w)
			w.is("afterwards", closed, test.openings...)
			seconds := int64(0)
			for _, o := range w.record.Openings {
				seconds += secondsOf(o)
			}
			installtest.Same(t, "open seconds", seconds, w.record.OpenSeconds)
			for range 3 {
				w.pass(time.Minute)
			}
			w.is("later", closed, test.openings...)
		})
	}
}

// The requests that passed are those of the configuration.
func TestRequestsWithoutARecord(t *testing.T) {
	for state, want := range map[managerv1alpha1.FailOpenState]string{partly: "live -", all: "live live"} {
		w := newWebhook(t)
		w.live = state
		w.reconcile()
		o := w.record.Openings[0]
		installtest.Same(t, "the requests", want, o.Requests+" "+cmp.Or(o.AllRequests, "-"))
	}
}

// The status cannot be written when the opening ends.
func TestOpenSecondsAfterAFailedStatusWrite(t *testing.T) {
	w := newWebhook(t)
	w.becomes(Unreachable)
	w.pass(10 * time.Minute)
	w.backend = Serves
	for range 5 {
		d := w.decide(false)
		w.live, w.memory = d.Form, d.Memory
	}
	w.reconcile()
	w.is("closed", closed, "12:05:00 to 12:10:01 Served")
	installtest.Same(t, "open seconds", 301, w.record.OpenSeconds)
	w.record = nil
	w.reconcile()
	installtest.Same(t, "without the record", 301, w.record.OpenSeconds)
	w.restart()
	installtest.Same(t, "after a restart", 301, w.record.OpenSeconds)
}

// Nothing is written while nothing changes.
func TestStable(t *testing.T) {
	w := newWebhook(t)
	w.becomes(Unreachable)
	w.pass(20 * time.Minute)
	before := w.record.DeepCopy()
	for range 100 {
		w.now = w.now.Add(123 * time.Millisecond)
		w.reconcile()
	}
	installtest.Same(t, "the record", before, w.record)
}

// Another client closes the configuration: the manager repairs it, and the record continues.
func TestRepaired(t *testing.T) {
	w := newWebhook(t)
	w.becomes(Unreachable)
	w.pass(6 * time.Minute)
	w.live = closed
	w.reconcile()
	w.is("repaired", partly, "12:05:00 to 13:05:01")
	w.live = all
	w.reconcile()
	w.is("repaired again", partly, "12:05:00 to 13:05:01")
}
