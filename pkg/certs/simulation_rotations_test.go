package certs

import (
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

var seeds = flag.Uint64("seeds", 8, "number of simulated clusters with ten rotations each")

// campaign is the number of seeds after which every exemption occurs (make campaign).
const campaign = 1000

// ordinarily returns the first number in the ordinary run, and the second one in make campaign.
func ordinarily(ordinary, inCampaign int) int {
	if *seeds >= campaign {
		return inCampaign
	}
	return ordinary
}

// No rotation fails a call that is not exempt, for any delay of the parts of a cluster and for any fault.
func TestTenRotationsFailNoCall(t *testing.T) {
	exemptedCalls := make([]map[string]int, *seeds)
	t.Run("seeds", func(t *testing.T) {
		for seed := range *seeds {
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				exemptedCalls[seed] = runRotations(t, seed, 10).exemptedCalls
			})
		}
	})
	for _, e := range exemptions {
		needed := 0
		for _, of := range exemptedCalls {
			needed += of[e.reason]
		}
		t.Logf("%6d calls are exempt: %s", needed, e.reason)
		if needed == 0 && *seeds >= campaign {
			t.Errorf("no call needs the exemption: %s", e.reason)
		}
	}
}

// runRotations returns a simulation after some rotations.
func runRotations(t *testing.T, seed uint64, n int) *simulation {
	sim := newSimulation(t, seed, []managerv1alpha1.CertificateProvider{byManager, byManager, byCertManager, byServiceCA}[seed%4])
	for rotations := 0; rotations < n; {
		if sim.rotateWithFaults(); sim.provider != byNone {
			rotations++ // provider none does not rotate
		}
	}
	return sim
}

func TestSeedIsDeterministic(t *testing.T) {
	t.Parallel()
	once, again := runRotations(t, 1, 3), runRotations(t, 1, 3)
	if once.random != again.random {
		t.Errorf("the logs differ:\n%s\nand\n%s", strings.Join(once.log, "\n"), strings.Join(again.log, "\n"))
	}
}

// A registration that is created during a rotation with an earlier decision delays the promotion.
// Therefore promotion reads registrations live, and the settle time restarts with each change.
func TestRegisteredDuringRotation(t *testing.T) { runWithFault(t, registeredLate) }

// A pod that is created shortly before the promotion mounts the previous certificate and serves it
// after all others serve the new one. Trust is not removed until it serves the new one, too.
func TestScaledUpDuringRotation(t *testing.T) { runWithFault(t, scaledUp) }

// runWithFault runs rotations that begin with the same fault.
func runWithFault(t *testing.T, f fault) {
	t.Helper()
	t.Parallel()
	for seed := range uint64(ordinarily(8, 32)) {
		sim := newSimulation(t, seed, byManager)
		for range 3 {
			sim.runRotation(sim.advanceToRenewal(), map[int]fault{0: f})
		}
	}
}

// Each loss of the Secret before pods mount it leaves a CA in the bundles. The bundles stay limited
// and keep the oldest CA, which pods serve.
func TestSecretLostRepeatedly(t *testing.T) {
	t.Parallel()
	for seed := range uint64(ordinarily(2, 8)) {
		sim := newSimulation(t, seed, byManager)
		faultsAt := map[int]fault{}
		for n := range maxAuthorities + 8 {
			faultsAt[3*n] = lost
		}
		sim.runRotation(sim.advanceToRenewal(), faultsAt)
	}
}

// Certificates that were minted while the clock was more than a year ahead are replaced after the
// clock is corrected, and calls succeed after that.
func TestClockAYearAhead(t *testing.T) {
	t.Parallel()
	for seed := range uint64(ordinarily(4, 8)) {
		sim := newSimulation(t, seed, byManager)
		for step := range 3 {
			sim.runRotation(sim.advanceToRenewal(), map[int]fault{10 * step: yearAhead})
			if chain := parse([]byte(sim.pair())); chain[0].NotBefore.After(sim.now) || chain[0].NotAfter.After(sim.now.Add(sim.policy.Validity)) {
				t.Errorf("pods are given a certificate of %s to %s at %s", chain[0].NotBefore, chain[0].NotAfter, sim.now)
			}
		}
	}
}

// rotateWithFaults advances to the renewal and runs a rotation with one or two random faults.
func (sim *simulation) rotateWithFaults() {
	sim.t.Helper()
	from := sim.advanceToRenewal()
	faultsAt := map[int]fault{}
	for range 1 + sim.random.intN(2) {
		faultsAt[sim.random.intN(1+sim.random.intN(60))] = faults[sim.random.intN(len(faults))]
	}
	sim.runRotation(from, faultsAt)
}

// runRotation runs a rotation to its end and injects the faults at their steps.
func (sim *simulation) runRotation(from string, faultsAt map[int]fault) {
	sim.t.Helper()
	for step := range 5000 {
		if f, ok := faultsAt[step]; ok {
			sim.logf("%s", f.name)
			f.inject(sim)
			sim.recordUntracked()
			delete(faultsAt, step)
		}
		sim.step()
		if len(faultsAt) == 0 && sim.finished(from) {
			sim.checkIdle()
			return
		}
	}
	sim.t.Fatalf("the rotation does not end: %s has %s\n%s", sim.provider, describe(sim.secret.last()), strings.Join(sim.log, "\n"))
}

func (sim *simulation) step() {
	sim.t.Helper()
	sim.advance(100*time.Millisecond + sim.upTo(2*time.Second))
	if !sim.requeueAt.IsZero() && !sim.now.Before(sim.requeueAt) {
		sim.reconcile(true)
	}
}

// advanceToRenewal advances to the renewal, to a whole second, and returns the current certificate.
// The jitter depends on the bytes of the certificate, not on the seed. The days until then differ
// from run to run, the events after it do not.
func (sim *simulation) advanceToRenewal() string {
	from := sim.pair()
	if sim.provider == byNone {
		sim.chooseOtherProvider()
		return "" // it may be the one that issued it
	}
	if serving := sim.decide(0).Serving; serving != nil && serving.RenewAt.After(sim.now) {
		sim.advance(serving.RenewAt.Add(time.Second - 1).Truncate(time.Second).Sub(sim.now))
	}
	sim.issue(sim.random.percent(40))
	return from
}

// finished reports whether the rotation is complete. With provider none, pods may wait for the Secret for ever.
func (sim *simulation) finished(from string) bool {
	if sim.provider == byNone {
		return true
	}
	if len(sim.events) > 0 {
		return false
	}
	last := sim.secret.last()
	if last == nil || len(last.Data[wellknown.KeyNextCA]) > 0 || last.Annotations[wellknown.AnnotationPromotedAt] != "" || sim.pair() == from {
		return false
	}
	d := sim.decide(0)
	return d.Phase == managerv1alpha1.CertificateStable && d.Write == nil && d.Serving != nil && d.Serving.Provider == sim.provider
}

// checkIdle checks that every call succeeds after a rotation, for any fault.
func (sim *simulation) checkIdle() {
	sim.t.Helper()
	sim.advance(time.Minute)
	sim.compromised = sim.compromisePending(sim.secret.last())
	if sim.provider == byNone {
		return
	}
	sim.noExemptions, sim.clockBeyondExpiryAt = true, time.Time{}
	sim.call()
	sim.noExemptions, sim.idleDecision = false, sim.decide(0)
}
