package certs

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// timeline is the time of a simulation, its random numbers and its events.
type timeline struct {
	t      *testing.T
	random splitMix64
	now    time.Time
	events []event
	log    []string

	clockOffset         time.Duration // of the managers' clock
	clockSetAheadAt     time.Time     // when the clock was last set ahead
	clockBeyondExpiryAt time.Time     // when the clock was last set beyond the expiry of certificates; zero after checkIdle

	changed  func() // follows each change of an object or of the clock
	advanced func() // follows each advance
}

type event struct {
	at time.Time
	do func()
}

// simulation is a cluster in which everything is delayed, and some of it is lost: caches, API
// servers, kubelets, pods, issuers, and the writes of paused managers.
type simulation struct{ *calls }

// newSimulation returns a simulation with a registered webhook whose certificate the provider issued.
func newSimulation(t *testing.T, seed uint64, provider managerv1alpha1.CertificateProvider) *simulation {
	line := &timeline{t: t, random: splitMix64{seed}, now: start}
	api := &apiServer{timeline: line, secret: object[*corev1.Secret]{{start, nil}}}
	sim := &simulation{&calls{
		managers: &managers{
			apiServer: api,
			issuerSet: &issuerSet{apiServer: api, provider: provider, issuers: map[managerv1alpha1.CertificateProvider]*issuer{}},
			nodes:     &nodes{apiServer: api, reloads: seed%3 != 0, reloadDelay: []time.Duration{500 * time.Millisecond, 10 * time.Second}[seed/2%2]},
			views:     &views{apiServer: api, mute: seed/4%2 == 1},
			policy:    policyOf(t, seed), cacheLag: []time.Duration{200 * time.Millisecond, 10 * time.Second}[seed%2], queued: map[time.Time]bool{},
		},
		answers: map[handshake]time.Time{}, otherClientCerts: map[string]bool{}, untrackedCerts: map[string]bool{}, exemptedCalls: map[string]int{},
	}}
	line.changed = func() {
		t.Helper()
		sim.enqueue(sim.upTo(sim.cacheLag))
		sim.enqueue(sim.cacheLag) // all caches show the change
		sim.call()
	}
	line.advanced = func() {
		t.Helper()
		for _, p := range sim.pods {
			sim.kubelet(p)
		}
		sim.call()
	}
	sim.issue(false)
	sim.reconcile(false)
	for range 3 {
		sim.addPod()
	}
	for range 2 {
		sim.register()
	}
	sim.delay = []time.Duration{0, sim.policy.Settle - 100*time.Millisecond}
	if !sim.mute {
		sim.delay[1] += 10 * time.Second
	}
	sim.advance(time.Minute)
	sim.idleDecision = sim.decide(0)
	return sim
}

func (sim *timeline) upTo(longest time.Duration) time.Duration {
	return time.Duration(sim.random.intN(int(longest) + 1))
}

func (sim *timeline) schedule(d time.Duration, do func()) {
	sim.events = append(sim.events, event{sim.now.Add(d), do})
}

func (sim *timeline) advance(d time.Duration) {
	sim.t.Helper()
	until := sim.now.Add(d)
	for {
		first := -1
		for i, e := range sim.events {
			if !e.at.After(until) && (first < 0 || e.at.Before(sim.events[first].at)) {
				first = i
			}
		}
		if first < 0 {
			break
		}
		due := sim.events[first]
		sim.events = append(sim.events[:first], sim.events[first+1:]...)
		if due.at.After(sim.now) {
			sim.now = due.at
		}
		due.do()
	}
	sim.now = until
	sim.advanced()
}

func (sim *timeline) logf(format string, args ...any) {
	sim.log = append(sim.log, sim.now.Format("15:04:05.000 ")+fmt.Sprintf(format, args...))
	if len(sim.log) > 40 {
		sim.log = sim.log[1:]
	}
}

// clock returns the managers' time.
func (sim *timeline) clock() time.Time { return sim.now.Add(sim.clockOffset) }

func (sim *timeline) setClock(clockOffset time.Duration) {
	set := func(to time.Duration) {
		if to > sim.clockOffset {
			sim.clockSetAheadAt = sim.now
		}
		sim.clockOffset = to
		sim.changed()
	}
	set(clockOffset)
	sim.schedule(sim.upTo(10*time.Minute), func() { set(0) })
}

// policyOf returns the policy of a seed: the default for half of them, and never RSA, whose keys take long to generate.
func policyOf(t *testing.T, seed uint64) Policy {
	t.Helper()
	p, random := DefaultPolicy(), splitMix64{^seed}
	if seed/4%2 == 0 {
		return p
	}
	p.Validity = oneOf(&random, 5*day, 30*day, 365*day)
	p.RenewBefore = oneOf(&random, 0, 2*day, 4*day)
	p.ClockSkew = oneOf(&random, 0, time.Minute, 10*time.Minute, time.Hour)
	p.Key = oneOf(&random, KeyECDSAP256, KeyECDSAP384, KeyEd25519)
	p.Settle = oneOf(&random, time.Second, 5*time.Second, 20*time.Second)
	p.Grace = oneOf(&random, 5*time.Second, 2*time.Minute)
	installtest.Must(t, p.Validate())
	return p
}

func oneOf[T any](random *splitMix64, choices ...T) T { return choices[random.intN(len(choices))] }

// splitMix64 is a random number generator. The same seed gives the same numbers, so that a failure can be reproduced.
type splitMix64 struct{ state uint64 }

func (d *splitMix64) next() uint64 {
	d.state += 0x9e3779b97f4a7c15
	z := d.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

func (d *splitMix64) intN(n int) int { return int(d.next() % uint64(n)) }

func (d *splitMix64) percent(p int) bool { return d.intN(100) < p }
