package certs

import (
	"fmt"
	"testing"
	"time"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
)

// Whoever issues, and whoever is to issue instead, whether or not a rotation is under way:
// at no write, and at no time after it, is there a call that fails.
func TestEveryChangeOfProviderCostsNoCall(t *testing.T) {
	all := []managerv1alpha1.CertificateProvider{byManager, byCertManager, byServiceCA, byNobody}
	for _, from := range all {
		for _, to := range all {
			if from == to {
				continue
			}
			for seed := range uint64(3) {
				t.Run(fmt.Sprintf("from %s to %s, %d", from, to, seed), func(t *testing.T) {
					t.Parallel()
					w := issuedAtFirstBy(t, seed, from)
					if seed > 0 && from != byNobody {
						w.sleep() // and have it be replaced in the middle of a rotation
						w.spend(w.upTo(30 * time.Second))
					}
					w.choose(to)
					w.spend(10 * time.Minute)
					if serving := w.decide(0).Serving; to != byNobody && (serving == nil || serving.Issuer != to || !w.over("")) {
						t.Errorf("%s does not issue what is served: %s", to, describe(w.secret.last()))
					}
				})
			}
		}
	}
}

// issuedAtFirstBy is a world whose provider is chosen. Before nobody there is somebody
// whose CA an administrator goes on with.
func issuedAtFirstBy(t *testing.T, seed uint64, provider managerv1alpha1.CertificateProvider) *world {
	if provider != byNobody {
		return newWorld(t, seed, provider)
	}
	w := newWorld(t, seed, byCertManager)
	w.spend(time.Minute)
	w.choose(byNobody)
	w.spend(2 * time.Minute)
	return w
}

// spend has time pass, and managers do what is due.
func (w *world) spend(d time.Duration) {
	w.Helper()
	for until := w.now.Add(d); w.now.Before(until); {
		w.step()
	}
}
