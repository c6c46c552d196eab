package certs

import (
	"fmt"
	"testing"
	"time"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
)

// A change of the provider fails no call at any time, whether or not a rotation is in progress.
func TestProviderChangeFailsNoCall(t *testing.T) {
	all := managerv1alpha1.CertificateProviders()
	for _, from := range all {
		for _, to := range all {
			if from == to {
				continue
			}
			for seed := range uint64(3) {
				t.Run(fmt.Sprintf("from %s to %s, %d", from, to, seed), func(t *testing.T) {
					t.Parallel()
					sim := newSimulationWithProvider(t, seed, from)
					if seed > 0 && from != byNone {
						sim.advanceToRenewal() // change the provider during a rotation
						sim.runFor(sim.upTo(30 * time.Second))
					}
					sim.chooseProvider(to)
					sim.runFor(10 * time.Minute)
					if serving := sim.decide(0).Serving; to != byNone && (serving == nil || serving.Provider != to || !sim.finished("")) {
						t.Errorf("the current certificate is not from %s: %s", to, describe(sim.secret.last()))
					}
				})
			}
		}
	}
}

// newSimulationWithProvider returns a simulation with the provider. Provider none begins with a
// certificate of cert-manager, whose CA an administrator continues to use.
func newSimulationWithProvider(t *testing.T, seed uint64, provider managerv1alpha1.CertificateProvider) *simulation {
	if provider != byNone {
		return newSimulation(t, seed, provider)
	}
	sim := newSimulation(t, seed, byCertManager)
	sim.runFor(time.Minute)
	sim.chooseProvider(byNone)
	sim.runFor(2 * time.Minute)
	return sim
}

func (sim *simulation) runFor(d time.Duration) {
	sim.t.Helper()
	for until := sim.now.Add(d); sim.now.Before(until); {
		sim.step()
	}
}
