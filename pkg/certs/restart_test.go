package certs

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// Pods that serve, or may serve, a certificate that is not the current one are restarted, and the status announces it.
func TestRestart(t *testing.T) {
	first, second := minted(t, 1, start), minted(t, 2, after(due))
	promoted := secretWith(t, first).next(second, after(due)).promoted(after(due))
	leaf := promoted.assembled(second).leaf()
	must := 27*day - time.Duration(fraction(parse(second.Certificate))*float64(3*day))
	tooSoon, mustBe := must-time.Second, instant(after(due+must))
	for name, test := range map[string]struct {
		serves   Observation
		created  time.Duration // after the promotion
		costs    string
		paused   bool
		waited   time.Duration
		nothing  bool // no previous CA is trusted
		shares   bool // previous and current certificate have the same CA
		restarts bool
		message  string // end of the message, if a restart is announced
	}{
		"other certificate, in the grace time":                       {serves: ServesOther, waited: 29 * time.Second, message: "pods that do not reload are restarted from 2026-04-30T12:00:30Z on, one by one, which makes calls fail if the server does not drain on termination"},
		"other certificate, after the grace time":                    {serves: ServesOther, waited: 30 * time.Second, restarts: true, message: "pods that do not reload are restarted from 2026-04-30T12:00:30Z on, one by one, which makes calls fail if the server does not drain on termination"},
		"other certificate, restart fails calls":                     {serves: ServesOther, costs: "of Recreate", waited: tooSoon, message: "pods that do not reload have to be restarted, which makes calls fail because of Recreate: the restart waits until " + mustBe + ", restart them earlier if another time is better"},
		"other certificate, restart fails calls, at the deadline":    {serves: ServesOther, costs: "of Recreate", waited: must, restarts: true, message: "the restart waits until " + mustBe + ", restart them earlier if another time is better"},
		"other certificate, paused":                                  {serves: ServesOther, paused: true, waited: time.Second, message: "pods that do not reload have to be restarted, and spec.paused of its Deployment keeps that from happening: resume it with kubectl rollout resume, or delete such pods one by one"},
		"other certificate, same CA":                                 {serves: ServesOther, shares: true, waited: 30 * time.Second, restarts: true, message: "the previous certificate has the same CA, and is valid at most until 2026-05-30T12:00:00Z; pods that do not reload are restarted from 2026-04-30T12:00:30Z on, one by one, which makes calls fail if the server does not drain on termination"},
		"other certificate, calls fail already":                      {serves: ServesOther, waited: 5 * time.Second, nothing: true, restarts: true, message: "calls to it fail until it does; pods that do not reload are restarted from 2026-04-30T12:00:05Z on, one by one, which makes calls fail if the server does not drain on termination"},
		"other certificate, calls fail already, restart fails calls": {serves: ServesOther, costs: "of Recreate", waited: 5 * time.Second, nothing: true, restarts: true, message: "pods that do not reload are restarted from 2026-04-30T12:00:05Z on, which makes calls fail because of Recreate"},
		"unknown":                                        {serves: ServesUnknown, waited: time.Hour, message: "pods that are not known to serve it are restarted from " + mustBe + " on, one by one, which makes calls fail if the server does not drain on termination"},
		"unknown, at the deadline":                       {serves: ServesUnknown, waited: must, restarts: true, message: "pods that are not known to serve it are restarted from " + mustBe + " on, one by one, which makes calls fail if the server does not drain on termination"},
		"unknown, same CA, at the deadline":              {serves: ServesUnknown, shares: true, waited: must, restarts: true, message: "the previous certificate has the same CA, and is valid at most until 2026-05-30T12:00:00Z; pods that are not known to serve it are restarted from " + mustBe + " on, one by one, which makes calls fail if the server does not drain on termination"},
		"unknown, restart fails calls":                   {serves: ServesUnknown, costs: "of Recreate", waited: tooSoon, message: "pods that are not known to serve it have to be restarted, which makes calls fail because of Recreate: the restart waits until " + mustBe + ", restart them earlier if another time is better"},
		"unknown, restart fails calls, at the deadline":  {serves: ServesUnknown, costs: "of Recreate", waited: must, restarts: true, message: "the restart waits until " + mustBe + ", restart them earlier if another time is better"},
		"unknown, paused":                                {serves: ServesUnknown, paused: true, waited: time.Second, message: "pods that are not known to serve it have to be restarted, and spec.paused of its Deployment keeps that from happening: resume it with kubectl rollout resume, or delete such pods one by one"},
		"unknown, calls may fail":                        {serves: ServesUnknown, waited: time.Hour, nothing: true},
		"unknown, created after the promotion":           {serves: ServesUnknown, created: 5*time.Minute + time.Second, waited: must},
		"unknown, created within the clock skew":         {serves: ServesUnknown, created: 5 * time.Minute, waited: must, restarts: true, message: "if the server does not drain on termination"},
		"other certificate, created after the promotion": {serves: ServesOther, created: time.Hour, waited: 2 * time.Hour, restarts: true, message: "if the server does not drain on termination"},
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
			installtest.Same(t, "it restarts", test.restarts, d.Restart)
			if announced := strings.Contains(d.Message, "restarted"); !strings.HasSuffix(d.Message, test.message) || announced != (test.message != "") {
				t.Errorf("it reports %q, want %q at the end", d.Message, test.message)
			}
			installtest.Same(t, "the number of pods to re-sync", 1, len(d.ResyncPods))
			installtest.Same(t, "the write", nil, d.Write)
		})
	}
}

// Delayed restarts are spread over the ninth tenth of the remaining validity, when no certificate
// has expired yet. A longer grace time delays the restart further.
func TestRestartDeadlinesAreSpread(t *testing.T) {
	var waits []time.Duration
	for range 40 {
		first, second := minted(t, 1, start), minted(t, 2, after(due))
		promoted := secretWith(t, first).next(second, after(due)).promoted(after(due))
		at := func(grace time.Duration) time.Duration {
			m := rotation{Facts: Facts{Secret: promoted.Secret}, policy: Policy{Grace: grace}, now: after(due)}
			m.state = readSecret(m.Facts, m.now)
			return m.restartDeadline().Sub(after(due))
		}
		if early, late := at(26*day+12*time.Hour), at(28*day); early < 26*day+12*time.Hour || early > 27*day || late != 27*day {
			t.Errorf("with a grace time of 26½ and 28 days the restart is delayed by %s and %s", early, late)
		}
		waits = append(waits, at(time.Minute))
	}
	slices.Sort(waits)
	if first, last := waits[0], waits[len(waits)-1]; first < 24*day || last > 27*day || last-first < day {
		t.Errorf("40 restarts are delayed by %s to %s, want 24 to 27 days, spread over a day at least", first, last)
	}
}

// After the previous certificate expired, pods that serve it, or may serve it, are still restarted:
// no other client restarts pods that do not reload.
func TestRestartAfterExpiry(t *testing.T) {
	now := after(91 * day)
	first, second := minted(t, 1, start), minted(t, 2, now)
	promoted := secretWith(t, first).next(second, now).promoted(now)
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
		"other certificate":                    {backends: stale, write: "current 2, promoted"},
		"unknown, in the grace time":           {backends: unknown, waited: 29 * time.Second},
		"unknown, after the grace time":        {backends: unknown, waited: 30 * time.Second, restarts: true},
		"unknown, restarted":                   {backends: unknown, waited: time.Minute, restartedFor: "2", write: "current 2"},
		"unknown, created after the promotion": {backends: since, waited: 7 * time.Minute, write: "current 2"},
		"current certificate":                  {backends: []Backend{{Pod: "a"}}, write: "current 2"},
	} {
		t.Run(name, func(t *testing.T) {
			f := Facts{Secret: promoted.Secret, Names: names, Live: true, Running: true, RestartCosts: "of Recreate", RestartedFor: test.restartedFor, Registrations: []Registration{trusting(second)},
				Evidence: &Evidence{Leaf: promoted.assembled(second).leaf(), Backends: test.backends}}
			d := Decide(f, DefaultPolicy(), now.Add(test.waited))
			installtest.Same(t, "it writes", test.write, describe(d.Write))
			installtest.Same(t, "it restarts", test.restarts, d.Restart)
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

func TestNoRestartWithoutDeployment(t *testing.T) {
	first, second := minted(t, 1, start), minted(t, 2, after(due))
	promoted := secretWith(t, first).next(second, after(due)).promoted(after(due))
	for _, serves := range []Observation{ServesOther, ServesUnknown} {
		d := Decide(Facts{Secret: promoted.Secret, Names: names, Live: true, Registrations: []Registration{trusting(second, first)},
			Evidence: &Evidence{Leaf: promoted.assembled(second).leaf(), Backends: []Backend{{Pod: "a", Serves: serves}}}}, DefaultPolicy(), after(due+28*day))
		installtest.Same(t, "it restarts", false, d.Restart)
		installtest.Same(t, "the message announces a restart", false, strings.Contains(d.Message, "restarted"))
	}
}
