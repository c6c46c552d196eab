package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// load calls a webhook at times that are set from the start: no call waits for the answer to
// another, and one that the machine is late with is made all the same.
type load struct {
	*env
	every time.Duration
	mutex sync.Mutex
	calls []call
	stop  func()
}

// call is what became of one request.
type call struct {
	due, sent, answered time.Time
	outcome             outcome
	err                 error
}

type outcome int

const (
	denied    outcome = iota // the webhook answered
	converted                // it answered with an object
	served                   // the server of an API answered
	uncovered                // no client was asked
	failed                   // a pod was asked and did not answer
)

func (o outcome) String() string {
	return [...]string{"denied", "converted", "served", "uncovered", "failed"}[o]
}

// answered reports whether a pod that was asked did.
func (o outcome) answered() bool { return o == denied || o == converted || o == served }

// startLoad calls the webhook's resource every 20 ms with an object that it denies, without storing anything.
func (e *env) startLoad() *load {
	e.Helper()
	return e.startLoadOf(20*time.Millisecond, func(ctx context.Context) call { return e.call(ctx, true) })
}

// catchUp is how many times as fast calls follow each other that are late: all at once would be another load.
const catchUp = 2

// mostInFlight is more than there are while webhooks take all the time that they may.
const mostInFlight = 1000

// atOnce bounds how many loads there are at one time: tests that run side by side wait for
// each other with theirs, so that none is called late for the sake of others.
var atOnce = make(chan struct{}, 2)

func (e *env) startLoadOf(every time.Duration, do func(context.Context) call) *load {
	e.Helper()
	atOnce <- struct{}{}
	l := &load{env: e, every: every}
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
	e.Cleanup(l.stop)
	return l
}

// callUntil makes all calls that are due before the load is stopped, and waits for their answers.
func (l *load) callUntil(stop <-chan time.Time, do func(context.Context) call) {
	ctx := context.WithoutCancel(l.ctx)
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

// call asks for a ConfigMap, without one being stored.
func (e *env) call(ctx context.Context, deniable bool) call {
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "load-"}}
	if deniable {
		object.Labels = map[string]string{"deny": "true"}
	}
	c := call{sent: time.Now()}
	_, c.err = kubeClient.CoreV1().ConfigMaps(e.namespace).Create(ctx, object, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	c.answered = time.Now()
	switch {
	case c.err == nil:
		c.outcome = uncovered
	case strings.Contains(c.err.Error(), "denied the request: labelled deny=true"):
		c.outcome = denied
	default:
		c.outcome = failed
	}
	return c
}

func (l *load) add(c call) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.calls = append(l.calls, c)
}

func (l *load) count(o outcome) int {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return installtest.Count(l.calls, func(c call) bool { return c.outcome == o })
}

func (l *load) first(o outcome) time.Time {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	var first time.Time
	for _, c := range l.calls {
		if c.outcome == o && (first.IsZero() || c.answered.Before(first)) {
			first = c.answered
		}
	}
	return first
}

// goesOn waits until a hundred more calls had the outcome, independent of the outcome of others.
func (l *load) goesOn(o outcome) {
	l.Helper()
	before := l.count(o)
	l.eventually("a hundred more calls are "+o.String(), func() (bool, any) {
		now := l.count(o)
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

// end stops the load. Every call that was not answered is an error unless it is excused, and so is a load below
// leastRate or silent for longer than mostSilent: it shows nothing.
func (l *load) end(excused func(call) bool) {
	l.Helper()
	l.stop()
	const shown = 3
	start, wrong := l.calls[0].sent, 0
	for _, c := range l.calls {
		if c.outcome.answered() || excused(c) {
			continue
		}
		if wrong++; wrong <= shown {
			l.Errorf("the call sent at %s (%s into the load) was %s: %v", c.sent.Format("15:04:05.000"), c.sent.Sub(start).Round(time.Millisecond), c.outcome, c.err)
		}
	}
	if wrong > shown {
		l.Errorf("%d more calls like these", wrong-shown)
	}
	l.Logf("%d calls: %d uncovered, %d denied, %d converted, %d served, %d failed", len(l.calls), l.count(uncovered), l.count(denied), l.count(converted), l.count(served), l.count(failed))
	rate, silent, said := l.pace()
	l.Log(said)
	if asked := float64(time.Second) / float64(l.every); rate < leastRate*asked {
		l.Errorf("%.0f calls a second were asked for, and the machine made %.0f: try again when it is less busy", asked, rate)
	}
	if silent > mostSilent {
		l.Errorf("no client called for %s, and a loss in that time would not have been observed: try again when the machine is less busy", silent.Round(time.Millisecond))
	}
}

// pace is how many calls a second there really were, how long there was none, and reports more of them.
func (l *load) pace() (rate float64, silent time.Duration, said string) {
	took := make([]time.Duration, 0, len(l.calls))
	sent := make([]time.Time, 0, len(l.calls))
	var late time.Duration
	for _, c := range l.calls {
		took, sent, late = append(took, c.answered.Sub(c.sent)), append(sent, c.sent), max(late, c.sent.Sub(c.due))
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

// uncoveredBefore excuses calls of a time when the webhook need not be live yet.
func uncoveredBefore(live time.Time) func(call) bool {
	return func(c call) bool { return c.outcome == uncovered && c.sent.Before(live) }
}

// uncoveredSince excuses calls of a time when the webhook need not be live any more.
func uncoveredSince(gone time.Time) func(call) bool {
	return func(c call) bool { return c.outcome == uncovered && c.answered.After(gone) }
}

func never(call) bool { return false }
