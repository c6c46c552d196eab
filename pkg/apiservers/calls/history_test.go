package calls

import (
	"testing"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

var (
	start  = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	policy = Policy{Interval: 15 * time.Second}
)

const refused = "calling_webhook_error, code 503"

// Each step is a reading, 15 s after the previous one: the calls that were answered and that failed since the process started.
func TestFailure(t *testing.T) {
	type step struct {
		answered, failed float64
		want             string // the second in which calls began to fail; empty if they do not
		process          float64
		pause            time.Duration // before the step
	}
	for name, steps := range map[string][]step{
		"calls before the first reading":    {{failed: 7}, {failed: 7}},
		"a call fails":                      {{}, {failed: 1, want: "15s"}, {failed: 1, want: "15s"}},
		"the first call of a webhook fails": {{answered: 0}, {}, {failed: 1, want: "30s"}},
		"no call fails":                     {{answered: 5}, {answered: 9}},
		"fewer than one in a thousand fail": {{}, {answered: 9_990, failed: 9}, {answered: 20_000, failed: 19}},
		"more than one in a thousand fail":  {{}, {answered: 997, failed: 2, want: "15s"}},
		"answered for a minute":             {{}, {failed: 1, want: "15s"}, {answered: 1, failed: 1, want: "15s"}, {answered: 2, failed: 1, want: "15s"}, {answered: 3, failed: 1, want: "15s"}, {answered: 4, failed: 1}},
		"answered once, a minute ago":       {{}, {failed: 1, want: "15s"}, {answered: 1, failed: 1, want: "15s"}, {answered: 1, failed: 1, want: "15s"}, {answered: 1, failed: 1, want: "15s"}, {answered: 1, failed: 1}},
		"some fail in each interval":        {{}, {answered: 1, failed: 1, want: "15s"}, {answered: 2, failed: 2, want: "15s"}, {answered: 3, failed: 3, want: "15s"}, {answered: 4, failed: 4, want: "15s"}, {answered: 5, failed: 5, want: "15s"}},
		"no call for a minute":              {{}, {failed: 1, want: "15s"}, {failed: 1, want: "15s", pause: time.Minute}},
		"no call for an hour":               {{}, {failed: 1, want: "15s"}, {failed: 1, pause: time.Hour}},
		"fails again after a recovery":      {{}, {failed: 1, want: "15s"}, {answered: 1, failed: 1, pause: time.Minute}, {answered: 1, failed: 2, want: "1m45s"}},
		"another process":                   {{failed: 2}, {failed: 5, process: 1}, {failed: 6, process: 1, want: "30s"}},
		"another process, while it fails":   {{}, {failed: 5, want: "15s"}, {answered: 3, process: 1, want: "15s"}},
		"a counter goes down":               {{answered: 9, failed: 3}, {answered: 1, failed: 3}, {answered: 1, failed: 4, want: "30s"}},
	} {
		t.Run(name, func(t *testing.T) {
			var h History
			now := start
			for i, s := range steps {
				if i > 0 {
					now = now.Add(policy.Interval + s.pause)
				}
				counters := Counters{Calls: s.answered + s.failed, Answered: s.answered}
				if s.failed > 0 {
					counters.Failed = map[string]float64{refused: s.failed}
				}
				h = h.Next(policy, Reading{Started: s.process, Webhooks: map[Webhook]Counters{wanted: counters}}, map[Webhook]*Failure{wanted: nil}, now)
				got := ""
				if f := h.Webhooks[wanted].Failure; f != nil {
					got = f.Since.Sub(start).String()
					installtest.Same(t, "the error", refused, f.Error)
				}
				installtest.Same(t, "since when calls fail", s.want, got)
			}
		})
	}
}

// A manager that starts knows of a failure only what its predecessor reported: it ends as others do.
func TestFailureOfThePredecessor(t *testing.T) {
	reported := &Failure{refused, start.Add(-time.Hour)}
	known := map[Webhook]*Failure{wanted: reported}
	at := func(answered float64) Reading {
		return Reading{Webhooks: map[Webhook]Counters{wanted: {Calls: answered, Answered: answered}}}
	}
	h := History{}.Next(policy, at(5), known, start)
	installtest.Same(t, "the failure after the start", reported, h.Webhooks[wanted].Failure)
	h = h.Next(policy, at(6), known, start.Add(time.Minute))
	installtest.Same(t, "the failure after an answer", (*Failure)(nil), h.Webhooks[wanted].Failure)
	h = h.Next(policy, at(6), known, start.Add(2*time.Minute))
	installtest.Same(t, "the failure that the status still has", (*Failure)(nil), h.Webhooks[wanted].Failure)
}

// A webhook that is registered later has no history, although the API server has counted calls of the name.
func TestWebhookThatIsRegisteredLater(t *testing.T) {
	reading := Reading{Webhooks: map[Webhook]Counters{wanted: {Calls: 3, Failed: map[string]float64{refused: 3}}}}
	h := History{}.Next(policy, reading, nil, start)
	h = h.Next(policy, reading, map[Webhook]*Failure{wanted: nil}, start.Add(time.Minute))
	installtest.Same(t, "the failure", (*Failure)(nil), h.Webhooks[wanted].Failure)
	h = h.Next(policy, reading, nil, start.Add(2*time.Minute))
	installtest.Same(t, "the number of webhooks after it is unregistered", 0, len(h.Webhooks))
}

// What is counted since the first reading is exported as a metric.
func TestTotals(t *testing.T) {
	at := func(calls, failed float64) Reading {
		return Reading{Webhooks: map[Webhook]Counters{wanted: {Calls: calls, Failed: map[string]float64{refused: failed}, Buckets: []Bucket{{1, calls}}}}}
	}
	known := map[Webhook]*Failure{wanted: nil}
	h := History{}.Next(policy, at(10, 5), known, start)
	h = h.Next(policy, at(14, 6), known, start.Add(policy.Interval))
	h = h.Next(policy, at(14, 6), known, start.Add(2*policy.Interval))
	s := h.Webhooks[wanted]
	installtest.Same(t, "calls, failed calls, percentile", [3]float64{4, 1, 0.99}, [3]float64{s.Calls, s.Failed, s.Percentile99})
}

// The most frequent error is reported, and of two the first by its name.
func TestMostFrequentError(t *testing.T) {
	for name, test := range map[string]struct {
		failed map[string]float64
		total  float64
		want   string
	}{
		"none":          {nil, 0, ""},
		"one":           {map[string]float64{"b": 2}, 2, "b"},
		"the most":      {map[string]float64{"a": 1, "b": 2, "c": 1}, 4, "b"},
		"two as often":  {map[string]float64{"c": 2, "b": 2, "a": 1}, 5, "b"},
		"three as many": {map[string]float64{"c": 2, "b": 2, "a": 2}, 6, "a"},
	} {
		total, reason := Counters{Failed: test.failed}.failed()
		installtest.Same(t, name+": total", test.total, total)
		installtest.Same(t, name, test.want, reason)
	}
}

// The status has whole seconds: with a fraction, each reconciliation would write it.
func TestFailureBeginsInAWholeSecond(t *testing.T) {
	known := map[Webhook]*Failure{wanted: nil}
	h := History{}.Next(policy, Reading{}, known, start)
	h = h.Next(policy, Reading{Webhooks: map[Webhook]Counters{wanted: {Calls: 1, Failed: map[string]float64{refused: 1}}}}, known, start.Add(1500*time.Millisecond))
	installtest.Same(t, "since when calls fail", start.Add(time.Second), h.Webhooks[wanted].Failure.Since)
}
