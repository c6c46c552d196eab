package certs

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
)

// simulation is a cluster in which everything is delayed, and some of it is lost: caches, API
// servers, kubelets, pods, issuers, and the writes of paused managers.
type simulation struct {
	*testing.T
	random splitMix64
	now    time.Time
	events []event
	log    []string

	// What the API server stores.
	secret        object[*corev1.Secret]
	registrations []object[registration]
	writes        int

	// Managers.
	policy              Policy
	provider            managerv1alpha1.CertificateProvider
	rotationRequest     string
	clockOffset         time.Duration // added to the time
	clockSetAheadAt     time.Time     // when the clock was last set ahead
	clockBeyondExpiryAt time.Time     // when the clock was last set beyond the expiry of certificates; zero after checkIdle
	cacheLag            time.Duration // longest delay of caches
	requeueAt           time.Time     // zero for never
	queued              map[time.Time]bool
	restartedFor        string
	pendingWrites       int      // delayed
	idleDecision        Decision // the last decision between two rotations

	secretRefused        bool // the API server refuses writes of the Secret
	registrationsRefused bool // the API server refuses writes of registrations

	issuers map[managerv1alpha1.CertificateProvider]*issuer

	// Nodes.
	pods        []*pod
	podsCreated int
	reloads     bool
	reloadDelay time.Duration // longest time to reload

	// Calls.
	delay            []time.Duration // after which each API server observes registrations
	answers          map[handshake]time.Time
	otherClientCerts map[string]bool // certificates that another client wrote to the Secret
	untrackedCerts   map[string]bool // certificates whose CA is in no object
	compromised      bool            // a request that ends all trust is pending
	noExemptions     bool            // no exemption applies
	exemptedCalls    map[string]int  // number for each exemption
}

type event struct {
	at time.Time
	do func()
}

// newSimulation returns a simulation with a registered webhook whose certificate the provider
// issued.
func newSimulation(t *testing.T, seed uint64, provider managerv1alpha1.CertificateProvider) *simulation {
	sim := &simulation{
		T: t, random: splitMix64{seed}, now: start, policy: policyOf(t, seed), provider: provider, reloads: seed%3 != 0,
		cacheLag: []time.Duration{200 * time.Millisecond, 10 * time.Second}[seed%2], reloadDelay: []time.Duration{500 * time.Millisecond, 10 * time.Second}[seed/2%2],
		queued: map[time.Time]bool{}, issuers: map[managerv1alpha1.CertificateProvider]*issuer{},
		answers: map[handshake]time.Time{}, otherClientCerts: map[string]bool{}, untrackedCerts: map[string]bool{}, exemptedCalls: map[string]int{},
	}
	sim.secret = object[*corev1.Secret]{{sim.now, nil}}
	sim.issue(false)
	sim.reconcile(false)
	for range 3 {
		sim.addPod()
	}
	for range 2 {
		sim.register()
	}
	sim.delay = []time.Duration{0, sim.policy.Settle - 100*time.Millisecond}
	sim.advance(time.Minute)
	sim.idleDecision = sim.decide(0)
	return sim
}

func (sim *simulation) upTo(longest time.Duration) time.Duration {
	return time.Duration(sim.random.intN(int(longest) + 1))
}

// schedule calls do after a while.
func (sim *simulation) schedule(d time.Duration, do func()) {
	sim.events = append(sim.events, event{sim.now.Add(d), do})
}

// advance advances the time and runs the events until then.
func (sim *simulation) advance(d time.Duration) {
	sim.Helper()
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
	for _, p := range sim.pods {
		sim.kubelet(p)
	}
	sim.call()
}

// logf records what happened, for the message of a failed call.
func (sim *simulation) logf(format string, args ...any) {
	sim.log = append(sim.log, sim.now.Format("15:04:05.000 ")+fmt.Sprintf(format, args...))
	if len(sim.log) > 40 {
		sim.log = sim.log[1:]
	}
}
