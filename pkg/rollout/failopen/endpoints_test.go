package failopen

import (
	"testing"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// The caches show no ready endpoint, and the API server has one for a time: in an EndpointSlice that the caches do not select, or
// because a watch is late. Only the time after it counts.
func TestAnswersOfTheAPIServerCount(t *testing.T) {
	for name, ready := range map[string]time.Duration{"for an hour": time.Hour, "for less than the time": 4*time.Minute + 30*time.Second, "at first": time.Second} {
		t.Run(name, func(t *testing.T) {
			w := newWebhook(t)
			w.alive = true
			w.becomes(Unreachable)
			installtest.Same(t, "an outage", nil, w.record.UnreachableSince)
			before := w.record.DeepCopy()
			w.pass(ready)
			installtest.Same(t, "the record, while an endpoint is ready", before, w.record)
			w.alive = false
			lost := w.now
			w.pass(5*time.Minute - time.Second)
			w.is("before the time", closed)
			w.pass(time.Second + w.settings.AskEvery)
			installtest.Same(t, "the configuration in time", partly, w.live)
			w.pass(10*time.Minute - time.Second - w.settings.AskEvery)
			installtest.Same(t, "before the time for all", partly, w.live)
			if late := w.record.Openings[0].From.Sub(lost.Add(5 * time.Minute)); late < 0 || late > w.settings.AskEvery {
				t.Errorf("it opens %s after the time", late)
			}
		})
	}
}

// An endpoint that is ready while the API server is asked begins the time again, also for the second stage.
func TestReadyAnswerInBetween(t *testing.T) {
	for after, want := range map[time.Duration]string{4 * time.Minute: "12:09:20 to 13:09:21", 14 * time.Minute: "12:05:00 to 13:05:01"} {
		w := newWebhook(t)
		w.becomes(Unreachable)
		w.pass(after)
		w.alive = true
		w.pass(w.settings.AskEvery)
		w.alive = false
		w.pass(w.settings.AskEvery)
		w.pass(5*time.Minute + time.Second)
		w.is("after "+after.String(), partly, want)
	}
}

// The API server is asked at the beginning of the time and every 10 seconds, and not while the time counts for nothing.
func TestAsksOnlyWhileItCounts(t *testing.T) {
	w := newWebhook(t)
	asked := func(what string, most int) {
		t.Helper()
		if w.asked > most || w.asked == 0 && most > 0 {
			t.Errorf("%s: asked %d times, not at most %d", what, w.asked, most)
		}
		w.asked = 0
	}
	w.pass(time.Hour)
	asked("while an endpoint is ready", 0)
	w.becomes(Unreachable)
	w.pass(5*time.Minute - time.Second)
	asked("before it opens", 30)
	for range 1000 {
		w.now = w.now.Add(time.Millisecond)
		w.reconcile()
	}
	asked("reconciled often", 1)
	w.pass(10 * time.Minute)
	installtest.Same(t, "open for all", all, w.live)
	asked("before it is widened", 61)
	w.pass(20 * time.Minute)
	asked("while it is open for all", 0)
	w.pass(48 * time.Hour)
	asked("after the time is over", 0)
	w.becomes(Serves)
	w.settings.AllAfter = 0
	w.becomes(Unreachable)
	w.pass(6 * time.Minute)
	installtest.Same(t, "open again", partly, w.live)
	w.asked = 0
	w.pass(30 * time.Minute)
	asked("while it is open, and never for all", 0)
	w.becomes(Serves)
	w.settings.For = time.Minute
	w.becomes(Unreachable)
	w.pass(10 * time.Hour)
	asked("while no time is left", 0)
	for name, change := range map[string]func(){"not allowed": func() { w.settings = nil }, "changed": func() { w.changed = true }} {
		w = newWebhook(t)
		change()
		w.becomes(Unreachable)
		w.pass(time.Hour)
		asked(name, 0)
	}
}

// While the API server answers that an endpoint is ready, it is asked no more often.
func TestAsksAgainAfterAReadyAnswer(t *testing.T) {
	w := newWebhook(t)
	w.alive = true
	w.becomes(Unreachable)
	for range 60 {
		w.pass(time.Second)
	}
	installtest.Same(t, "the number of questions in a minute", 7, w.asked)
}

// The API server cannot be asked for a time, or the manager has no time: an endpoint may have been ready.
func TestLateAnswerBeginsTheTimeAgain(t *testing.T) {
	for late, state := range map[time.Duration]string{longestDelay: "Partly", longestDelay + time.Second: "Closed"} {
		w := newWebhook(t)
		w.becomes(Unreachable)
		w.pass(2 * time.Minute)
		for until := w.now.Add(w.settings.AskEvery + late); w.now.Before(until); {
			w.now = w.now.Add(time.Second)
			w.memory = w.decide(false).Memory // nothing answers
		}
		w.reconcile()
		w.pass(3*time.Minute - late - w.settings.AskEvery)
		installtest.Same(t, "an answer that is late by "+late.String(), state, string(w.live))
	}
}

// A client cannot know when the API server is asked.
func TestPauseVaries(t *testing.T) {
	w := newWebhook(t)
	pauses := map[time.Duration]bool{}
	for range 100 {
		w.now = w.now.Add(12345 * time.Microsecond)
		p := w.settings.pause(w.now)
		pauses[p] = true
		if p < 5*time.Second || p > 10*time.Second {
			t.Errorf("the pause is %s", p)
		}
	}
	if len(pauses) < 50 {
		t.Errorf("there are only %d pauses", len(pauses))
	}
}

// A clock that goes back makes no answer newer.
func TestAnswerCounts(t *testing.T) {
	for age, want := range map[time.Duration]bool{
		0: true, time.Second: true, time.Second + time.Millisecond: false, 8 * time.Second: false, -time.Minute: false,
	} {
		installtest.Same(t, age.String(), want, Answer{At: noon.Add(-age)}.Counts(noon))
	}
	installtest.Same(t, "no answer", false, Answer{}.Counts(noon))
}
