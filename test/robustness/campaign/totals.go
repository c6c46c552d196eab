package campaign

import (
	"fmt"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/robustness/history"
)

// totals are what happened in several runs.
type totals struct {
	runs, failed, crashes, failures int
	calls, failedCalls, writes      int
	virtual                         time.Duration
}

// add counts a run.
func (t *totals) add(r Result, failed bool) {
	t.runs++
	if failed {
		t.failed++
	}
	t.crashes += r.Crashes
	t.failures += len(r.Failures)
	if n := len(r.History.Events); n > 0 {
		t.virtual += r.History.Events[n-1].At.Sub(r.History.Events[0].At)
	}
	for _, e := range r.History.Events {
		switch {
		case e.Call != nil && e.Call.Outcome == history.Failed:
			t.failedCalls++
			t.calls++
		case e.Call != nil:
			t.calls++
		case e.Write != nil && r.History.Clients[e.Write.Client] == history.Manager:
			t.writes++
		}
	}
}

// String returns them in one line.
func (t *totals) String() string {
	return fmt.Sprintf("%d runs, %d with a violation; %v of virtual time; %d calls judged, %d of them failed in an outage; %d writes of managers, %d failed requests, %d crashes",
		t.runs, t.failed, t.virtual.Round(time.Minute), t.calls, t.failedCalls, t.writes, t.failures, t.crashes)
}
