// Package calls puts webhooks under a steady load of calls, and fails a test for each call that no webhook answered.
package calls

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// Load calls a webhook at times that are set from the start: no call waits for the answer to
// another, and one that the machine is late with is made all the same.
type Load struct {
	testing.TB
	every time.Duration
	mutex sync.Mutex
	calls []Call
	stop  func()
}

// Call is what became of one request.
type Call struct {
	Sent, Answered time.Time
	Outcome        Outcome
	Err            error
	Through        string // the address of the API server, if the test has several

	due time.Time
}

// Outcome is what became of a request, in one word.
type Outcome int

// The outcomes.
const (
	Denied    Outcome = iota // the webhook answered
	Converted                // it answered with an object
	Served                   // the server of an API answered
	Uncovered                // no client was asked
	Failed                   // a pod was asked and did not answer
)

// Outcomes are all of them.
var Outcomes = []Outcome{Denied, Converted, Served, Uncovered, Failed}

func (o Outcome) String() string {
	return [...]string{"denied", "converted", "served", "uncovered", "failed"}[o]
}

// answered reports whether a pod that was asked did.
func (o Outcome) answered() bool { return o == Denied || o == Converted || o == Served }

// catchUp is how many times as fast calls follow each other that are late: all at once would be another load.
const catchUp = 2

// mostInFlight is more than there are while webhooks take all the time that they may.
const mostInFlight = 1000

// atOnce bounds how many loads there are at one time: tests that run side by side wait for
// each other with theirs, so that none is called late for the sake of others.
var atOnce = make(chan struct{}, 2)

// Start starts a load, which ends with the test.
func Start(t testing.TB, every time.Duration, do func(context.Context) Call) *Load {
	t.Helper()
	atOnce <- struct{}{}
	l := &Load{TB: t, every: every}
	stop, ended := make(chan time.Time, 1), make(chan struct{})
	go func() {
		defer close(ended)
		l.callUntil(stop, do)
	}()
	l.stop = sync.OnceFunc(func() {
		stop <- time.Now()
		<-ended
		<-atOnce
	})
	t.Cleanup(l.stop)
	return l
}

// callUntil makes all calls that are due before the load is stopped, and waits for their answers.
func (l *Load) callUntil(stop <-chan time.Time, do func(context.Context) Call) {
	ctx := context.WithoutCancel(l.Context())
	var requests sync.WaitGroup
	defer requests.Wait()
	inFlight := make(chan struct{}, mostInFlight)
	var until, earliest time.Time
	for due := time.Now(); until.IsZero() || due.Before(until); due = due.Add(l.every) {
		select {
		case until = <-stop:
			if !due.Before(until) {
				return
			}
		case <-time.After(max(time.Until(due), time.Until(earliest))):
		}
		earliest = time.Now().Add(l.every / catchUp)
		inFlight <- struct{}{}
		requests.Go(func() {
			c := do(ctx)
			c.due = due
			l.add(c)
			<-inFlight
		})
	}
}

func (l *Load) add(c Call) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.calls = append(l.calls, c)
}

// Calls returns all calls of a load that has ended.
func (l *Load) Calls() []Call { return l.calls }

// Count returns the number of calls with one of some outcomes.
func (l *Load) Count(outcomes ...Outcome) int {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return installtest.Count(l.calls, func(c Call) bool { return slices.Contains(outcomes, c.Outcome) })
}

// First returns when the first call with an outcome was answered.
func (l *Load) First(o Outcome) time.Time {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	var first time.Time
	for _, c := range l.calls {
		if c.Outcome == o && (first.IsZero() || c.Answered.Before(first)) {
			first = c.Answered
		}
	}
	return first
}

// GoesOn waits until a hundred more calls had one of the outcomes, independent of the outcome of others.
func (l *Load) GoesOn(outcomes ...Outcome) {
	l.Helper()
	before := l.Count(outcomes...)
	kube.Eventually(l, fmt.Sprintf("a hundred more calls are %s", outcomes), func() (bool, any) {
		now := l.Count(outcomes...)
		return now >= before+100, now - before
	})
}

// mostSilent bounds the time in which no client calls: a loss in it would not be observed. What goes
// wrong with trust goes wrong for the settle time, which is 5 s. Machines that do more than these
// tests were observed to be silent for up to 0.7 s, so a bound near that would fail for their sake.
const mostSilent = 2 * time.Second

// leastRate is the part of the calls asked for that must be made. That no loss stays unseen is what mostSilent ensures;
// a machine that other work keeps busy was observed to make two thirds of the calls, at most 0.7 s apart.
const leastRate = 0.5

// End stops the load. Every call that was not answered is an error unless it is excused, and so is a load below
// leastRate or silent for longer than mostSilent: it shows nothing.
func (l *Load) End(excused func(Call) bool) {
	l.Helper()
	l.stop()
	const shown = 3
	start, wrong := l.calls[0].Sent, 0
	for _, c := range l.calls {
		if c.Outcome.answered() || excused(c) {
			continue
		}
		if wrong++; wrong <= shown {
			l.Errorf("the call sent at %s (%s into the load) %swas %s: %v", c.Sent.Format("15:04:05.000"), c.Sent.Sub(start).Round(time.Millisecond), c.through(), c.Outcome, c.Err)
		}
	}
	if wrong > shown {
		l.Errorf("%d more calls like these", wrong-shown)
	}
	l.Logf("%d calls: %d uncovered, %d denied, %d converted, %d served, %d failed", len(l.calls), l.Count(Uncovered), l.Count(Denied), l.Count(Converted), l.Count(Served), l.Count(Failed))
	rate, silent, said := l.pace()
	l.Log(said)
	if asked := float64(time.Second) / float64(l.every); rate < leastRate*asked {
		l.Errorf("%.0f calls a second were asked for, and the machine made %.0f: try again when it is less busy", asked, rate)
	}
	if silent > mostSilent {
		l.Errorf("no client called for %s, and a loss in that time would not have been observed: try again when the machine is less busy", silent.Round(time.Millisecond))
	}
}

// through reports the API server, if the test has several.
func (c Call) through() string {
	if c.Through == "" {
		return ""
	}
	return "through " + c.Through + " "
}

// pace is how many calls a second there really were, how long there was none, and reports more of them.
func (l *Load) pace() (rate float64, silent time.Duration, said string) {
	took := make([]time.Duration, 0, len(l.calls))
	sent := make([]time.Time, 0, len(l.calls))
	var late time.Duration
	for _, c := range l.calls {
		took, sent, late = append(took, c.Answered.Sub(c.Sent)), append(sent, c.Sent), max(late, c.Sent.Sub(c.due))
	}
	slices.Sort(took)
	slices.SortFunc(sent, time.Time.Compare)
	for i := range sent[1:] {
		silent = max(silent, sent[i+1].Sub(sent[i]))
	}
	rate = float64(len(sent)-1) / sent[len(sent)-1].Sub(sent[0]).Seconds()
	return rate, silent, fmt.Sprintf("%.0f calls a second, 99%% of them answered within %s, none sent later than %s, at most %s between two",
		rate, took[len(took)*99/100].Round(time.Millisecond), late.Round(time.Millisecond), silent.Round(time.Millisecond))
}

// UncoveredBefore excuses calls of a time when the webhook need not be live yet.
func UncoveredBefore(live time.Time) func(Call) bool {
	return func(c Call) bool { return c.Outcome == Uncovered && c.Sent.Before(live) }
}

// UncoveredSince excuses calls of a time when the webhook need not be live any more.
func UncoveredSince(gone time.Time) func(Call) bool {
	return func(c Call) bool { return c.Outcome == Uncovered && c.Answered.After(gone) }
}

// Never excuses no call.
func Never(Call) bool { return false }
