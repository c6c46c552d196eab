package certs

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
)

// world is a cluster in which everything comes late, and some of it not at all: caches,
// API servers, kubelets, pods, issuers, and the writes of managers that were paused.
type world struct {
	*testing.T
	random dice
	now    time.Time
	events []event
	story  []string

	// What the API server stores.
	secret        object[*corev1.Secret]
	registrations []object[registration]
	writes        int

	// Managers.
	policy       Policy
	provider     managerv1alpha1.CertificateProvider
	order        string
	ahead        time.Duration // of their clock
	jumped       time.Time     // when that was last set ahead
	outran       time.Time     // when that was last set ahead beyond the end of certificates; zero once that is over
	lag          time.Duration // of their caches, at most
	looksAt      time.Time     // when their timer goes off
	looks        map[time.Time]bool
	restartedFor string
	underWay     int      // writes that they have decided on
	peace        Decision // the last between two rotations

	refused bool // whether the API server refuses to write the Secret
	stuck   bool // whether it refuses to write registrations

	issuers map[managerv1alpha1.CertificateProvider]*issuer

	// Nodes.
	pods    []*pod
	born    int // how many there ever were
	reloads bool
	loads   time.Duration // how long they take for it, at most

	// Calls.
	late        []time.Duration // how late each API server learns of registrations
	answers     map[handshake]time.Time
	strangers   map[string]bool // certificates that somebody else put into the Secret
	forgotten   map[string]bool // certificates whose CA nothing holds any more
	compromised bool            // an order is under way that ends all trust
	strict      bool            // nothing is exempt
	exempted    map[string]int  // how often each exemption was needed
}

// event is what happens at an instant.
type event struct {
	at time.Time
	do func()
}

// newWorld has a webhook in service under a certificate of some provider's.
func newWorld(t *testing.T, seed uint64, provider managerv1alpha1.CertificateProvider) *world {
	w := &world{
		T: t, random: dice{seed}, now: start, policy: policyOf(t, seed), provider: provider, reloads: seed%3 != 0,
		lag: []time.Duration{200 * time.Millisecond, 10 * time.Second}[seed%2], loads: []time.Duration{500 * time.Millisecond, 10 * time.Second}[seed/2%2],
		looks: map[time.Time]bool{}, issuers: map[managerv1alpha1.CertificateProvider]*issuer{},
		answers: map[handshake]time.Time{}, strangers: map[string]bool{}, forgotten: map[string]bool{}, exempted: map[string]int{},
	}
	w.secret = object[*corev1.Secret]{{w.now, nil}}
	w.issue(false)
	w.pass(false)
	for range 3 {
		w.addPod()
	}
	for range 2 {
		w.register()
	}
	w.late = []time.Duration{0, w.policy.Settle - 100*time.Millisecond}
	w.elapse(time.Minute)
	w.peace = w.decide(0)
	return w
}

func (w *world) upTo(longest time.Duration) time.Duration {
	return time.Duration(w.random.below(int(longest) + 1))
}

// in has something happen after a while.
func (w *world) in(d time.Duration, do func()) {
	w.events = append(w.events, event{w.now.Add(d), do})
}

// elapse lets time pass, and what was due by then happen.
func (w *world) elapse(d time.Duration) {
	w.Helper()
	until := w.now.Add(d)
	for {
		first := -1
		for i, e := range w.events {
			if !e.at.After(until) && (first < 0 || e.at.Before(w.events[first].at)) {
				first = i
			}
		}
		if first < 0 {
			break
		}
		due := w.events[first]
		w.events = append(w.events[:first], w.events[first+1:]...)
		if due.at.After(w.now) {
			w.now = due.at
		}
		due.do()
	}
	w.now = until
	for _, p := range w.pods {
		w.kubelet(p)
	}
	w.call()
}

// tell notes what happened, for who asks why a call failed.
func (w *world) tell(format string, args ...any) {
	w.story = append(w.story, w.now.Format("15:04:05.000 ")+fmt.Sprintf(format, args...))
	if len(w.story) > 40 {
		w.story = w.story[1:]
	}
}
