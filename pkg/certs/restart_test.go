package certs

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// When pods are restarted that serve another certificate than they are given, or may, and how
// the status foretells it.
func TestRestart(t *testing.T) {
	first, second := minted(t, 1, start), minted(t, 2, after(due))
	promoted := holding(t, first).next(second, after(due)).promoted(after(due))
	leaf := promoted.assembled(second).leaf()
	must := 27*day - time.Duration(fraction(parse(second.Certificate))*float64(3*day))
	tooSoon, mustBe := must-time.Second, instant(after(due+must))
	for name, test := range map[string]struct {
		serves   Observation
		created  time.Duration // after the promotion
		costs    string
		paused   bool
		waited   time.Duration
		nothing  bool // nothing before is trusted
		shares   bool // the CA
		restarts bool
		says     string // of a restart, if there is to be one; at the end
	}{
		"in the grace time":                          {serves: ServesOther, waited: 29 * time.Second, says: "what does not reload is restarted from 2026-04-30T12:00:30Z on, pod by pod, which makes calls fail if it does not drain when it is told to end"},
		"after it":                                   {serves: ServesOther, waited: 30 * time.Second, restarts: true, says: "what does not reload is restarted from 2026-04-30T12:00:30Z on, pod by pod, which makes calls fail if it does not drain when it is told to end"},
		"a restart costs calls":                      {serves: ServesOther, costs: "of Recreate", waited: tooSoon, says: "what does not reload has to be restarted, which makes calls fail because of Recreate: it is put off until " + mustBe + ", restart it at a better moment"},
		"a restart costs calls, and is a must":       {serves: ServesOther, costs: "of Recreate", waited: must, restarts: true, says: "it is put off until " + mustBe + ", restart it at a better moment"},
		"its Deployment is paused":                   {serves: ServesOther, paused: true, waited: time.Second, says: "what does not reload has to be restarted, and spec.paused of its Deployment keeps that from happening: resume it with kubectl rollout resume, or delete such pods one by one"},
		"of the same CA":                             {serves: ServesOther, shares: true, waited: 30 * time.Second, restarts: true, says: "the certificate before is of the same CA, and valid at most until 2026-05-30T12:00:00Z; what does not reload is restarted from 2026-04-30T12:00:30Z on, pod by pod, which makes calls fail if it does not drain when it is told to end"},
		"calls fail already":                         {serves: ServesOther, waited: 5 * time.Second, nothing: true, restarts: true, says: "calls to it fail until it does; what does not reload is restarted from 2026-04-30T12:00:05Z on, pod by pod, which makes calls fail if it does not drain when it is told to end"},
		"calls fail already, and a restart costs":    {serves: ServesOther, costs: "of Recreate", waited: 5 * time.Second, nothing: true, restarts: true, says: "what does not reload is restarted from 2026-04-30T12:00:05Z on, which makes calls fail because of Recreate"},
		"who does not answer may reload":             {serves: ServesUnknown, waited: time.Hour, says: "what is not known to serve it is restarted from " + mustBe + " on, pod by pod, which makes calls fail if it does not drain when it is told to end"},
		"who does not answer must":                   {serves: ServesUnknown, waited: must, restarts: true, says: "what is not known to serve it is restarted from " + mustBe + " on, pod by pod, which makes calls fail if it does not drain when it is told to end"},
		"who does not answer, of the same CA":        {serves: ServesUnknown, shares: true, waited: must, restarts: true, says: "the certificate before is of the same CA, and valid at most until 2026-05-30T12:00:00Z; what is not known to serve it is restarted from " + mustBe + " on, pod by pod, which makes calls fail if it does not drain when it is told to end"},
		"who does not answer, and a restart costs":   {serves: ServesUnknown, costs: "of Recreate", waited: tooSoon, says: "what is not known to serve it has to be restarted, which makes calls fail because of Recreate: it is put off until " + mustBe + ", restart it at a better moment"},
		"who does not answer must, at any cost":      {serves: ServesUnknown, costs: "of Recreate", waited: must, restarts: true, says: "it is put off until " + mustBe + ", restart it at a better moment"},
		"who does not answer is paused":              {serves: ServesUnknown, paused: true, waited: time.Second, says: "what is not known to serve it has to be restarted, and spec.paused of its Deployment keeps that from happening: resume it with kubectl rollout resume, or delete such pods one by one"},
		"who does not answer, and calls may fail":    {serves: ServesUnknown, waited: time.Hour, nothing: true},
		"who does not answer came since":             {serves: ServesUnknown, created: 5*time.Minute + time.Second, waited: must},
		"who does not answer may have come before":   {serves: ServesUnknown, created: 5 * time.Minute, waited: must, restarts: true, says: "when it is told to end"},
		"who came since serves another all the same": {serves: ServesOther, created: time.Hour, waited: 2 * time.Hour, restarts: true, says: "when it is told to end"},
	} {
		t.Run(name, func(t *testing.T) {
			f := Facts{Secret: promoted.Secret, Names: names, Live: true, Running: true, RestartCosts: test.costs, Paused: test.paused, Registrations: []Registration{trusting(second, first)},
				Evidence: &Evidence{Leaf: leaf, Backends: []Backend{{Pod: "a", Serves: test.serves, Message: "pod a", Created: after(due + test.created)}}}}
			if test.nothing || test.shares {
				f.Secret = promoted.edited("previous-ca.crt", nil).Secret
			}
			if test.nothing {
				delete(f.Secret.Annotations, "olm-webhook-manager.io/certificate-previous-expires-at")
			}
			d := Decide(f, DefaultPolicy(), after(due+test.waited))
			if d.Restart != test.restarts {
				t.Errorf("it restarts: %t, want %t", d.Restart, test.restarts)
			}
			if foretold := strings.Contains(d.Message, "restarted"); !strings.HasSuffix(d.Message, test.says) || foretold != (test.says != "") {
				t.Errorf("it says %q, want %q at the end", d.Message, test.says)
			}
			if len(d.ResyncPods) != 1 {
				t.Errorf("it nudges %v, want the pod", d.ResyncPods)
			}
			if d.Write != nil {
				t.Error("it writes the Secret")
			}
		})
	}
}

// Restarts that are put off are spread over the ninth tenth of the time that there is, in which
// nothing has ended yet. Whoever needs all that time to reload is not restarted before.
func TestRestartsArePutOffToDifferentMoments(t *testing.T) {
	var waits []time.Duration
	for range 40 {
		first, second := minted(t, 1, start), minted(t, 2, after(due))
		promoted := holding(t, first).next(second, after(due)).promoted(after(due))
		at := func(grace time.Duration) time.Duration {
			m := rotation{Facts: Facts{Secret: promoted.Secret}, policy: Policy{Grace: grace}, now: after(due)}
			m.state = readSecret(m.Facts, m.now)
			return restarter{&m}.restartDeadline().Sub(after(due))
		}
		if early, late := at(26*day+12*time.Hour), at(28*day); early < 26*day+12*time.Hour || early > 27*day || late != 27*day {
			t.Errorf("with a grace time of 26½ and 28 days the restart is put off for %s and %s", early, late)
		}
		waits = append(waits, at(time.Minute))
	}
	slices.Sort(waits)
	if first, last := waits[0], waits[len(waits)-1]; first < 24*day || last > 27*day || last-first < day {
		t.Errorf("40 restarts are put off for %s to %s, want 24 to 27 days, at different moments", first, last)
	}
}

// Who was seen to serve what has ended has to follow all the same, and so has to who may serve it:
// nobody else restarts pods that do not reload.
func TestRestartAfterTheEnd(t *testing.T) {
	now := after(91 * day)
	first, second := minted(t, 1, start), minted(t, 2, now)
	promoted := holding(t, first).next(second, now).promoted(now)
	stale := []Backend{{Pod: "a", Serves: ServesOther}}
	unknown := []Backend{{Pod: "a", Serves: ServesUnknown, Created: start}}
	since := []Backend{{Pod: "a", Serves: ServesUnknown, Created: now.Add(6 * time.Minute)}}
	for name, test := range map[string]struct {
		backends     []Backend
		waited       time.Duration
		restartedFor string
		write        string
		restarts     bool
	}{
		"who serves it is not trusted":        {backends: stale, write: "current 2, promoted"},
		"who may serve it may reload":         {backends: unknown, waited: 29 * time.Second},
		"who may serve it is restarted":       {backends: unknown, waited: 30 * time.Second, restarts: true},
		"who may serve it was restarted":      {backends: unknown, waited: time.Minute, restartedFor: "2", write: "current 2"},
		"who came since cannot have it":       {backends: since, waited: 7 * time.Minute, write: "current 2"},
		"everybody serves the one after that": {backends: []Backend{{Pod: "a"}}, write: "current 2"},
	} {
		t.Run(name, func(t *testing.T) {
			f := Facts{Secret: promoted.Secret, Names: names, Live: true, Running: true, RestartCosts: "of Recreate", RestartedFor: test.restartedFor, Registrations: []Registration{trusting(second)},
				Evidence: &Evidence{Leaf: promoted.assembled(second).leaf(), Backends: test.backends}}
			d := Decide(f, DefaultPolicy(), now.Add(test.waited))
			if got := describe(d.Write); got != test.write || d.Restart != test.restarts {
				t.Errorf("it writes %q and restarts: %t, want %q and %t", got, d.Restart, test.write, test.restarts)
			}
			if test.write == "current 2" || d.Write == nil {
				return
			}
			f.Secret = d.Write
			if d = Decide(f, DefaultPolicy(), now.Add(test.waited+5*time.Second)); !d.Restart || d.Write != nil {
				t.Errorf("after that it writes %q and restarts: %t", describe(d.Write), d.Restart)
			}
		})
	}
}

// Nobody foretells a restart where there is no Deployment that could be restarted.
func TestRestartOfNothing(t *testing.T) {
	first, second := minted(t, 1, start), minted(t, 2, after(due))
	promoted := holding(t, first).next(second, after(due)).promoted(after(due))
	for _, serves := range []Observation{ServesOther, ServesUnknown} {
		d := Decide(Facts{Secret: promoted.Secret, Names: names, Live: true, Registrations: []Registration{trusting(second, first)},
			Evidence: &Evidence{Leaf: promoted.assembled(second).leaf(), Backends: []Backend{{Pod: "a", Serves: serves}}}}, DefaultPolicy(), after(due+28*day))
		if d.Restart || strings.Contains(d.Message, "restarted") {
			t.Errorf("it restarts: %t, and says %q", d.Restart, d.Message)
		}
	}
}
