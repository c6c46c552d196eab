package certs

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// Certificates of other issuers go through the same steps.
func TestIssuers(t *testing.T) {
	const otherProvider = managerv1alpha1.CertificateProvider("theirs")
	first, second, third := minted(t, 1, start), minted(t, 2, after(day)), minted(t, 3, after(2*day))
	managers := secretWith(t, first)
	issued, reissued := second, third
	issued.Number, reissued.Number = 0, 0
	distributed := managers.change(after(day), func(e editor) {
		e.Provider = otherProvider
		e.storeNext(managers.assembled(issued))
	})
	promoted := distributed.promoted(after(day)).change(after(day), editor.endRotation)
	one, both := trusting(first), trusting(second, first)
	expired := secretWith(t, third).next(issued, after(2*day)).promoted(after(2 * day))
	for name, c := range map[string]decision{
		"nothing issued yet":                                    {facts: Facts{Provider: otherProvider, Live: true}, phase: bootstrap},
		"first certificate":                                     {facts: Facts{Provider: otherProvider, Live: true, Issued: &issued}, at: after(day), write: "current 2", phase: stable, trust: "2"},
		"the provider changes, nothing issued yet":              {facts: Facts{Provider: otherProvider, Secret: managers.Secret, Registrations: []Registration{one}}, at: after(day), phase: stable, trust: "1"},
		"the provider changes":                                  {facts: Facts{Provider: otherProvider, Secret: managers.Secret, Registrations: []Registration{one}, Issued: &issued}, at: after(day), write: "current 1, next 2", phase: distributing, trust: "2 1"},
		"the next certificate is stored already":                {facts: Facts{Provider: otherProvider, Secret: distributed.Secret, Registrations: []Registration{both}, Issued: &issued}, at: after(day), need: NeedLive, phase: distributing, trust: "2 1"},
		"reissued before the promotion":                         {facts: Facts{Provider: otherProvider, Secret: distributed.Secret, Registrations: []Registration{both}, Issued: &reissued}, at: after(2 * day), write: "current 1, next 3", phase: distributing, trust: "3 1"},
		"the current certificate is stored already":             {facts: Facts{Provider: otherProvider, Secret: promoted.Secret, Registrations: []Registration{trusting(second)}, Issued: &issued}, at: after(80 * day), phase: stable, trust: "2"},
		"the provider changes to the manager":                   {facts: cached(promoted, trusting(second)), at: after(day), need: NeedIssued, phase: stable, trust: "2"},
		"the provider changes to the manager during a rotation": {facts: cached(distributed, both), at: after(day), write: "current 1", phase: retiring, trust: "1"},
		"the Secret is lost":                                    {facts: Facts{Provider: otherProvider, Live: true, Registrations: []Registration{trusting(second)}, Issued: &issued}, at: after(day), write: "next 2, previous 2", phase: distributing, trust: "2", message: "missing"},
		"the next certificate has expired":                      {facts: Facts{Provider: otherProvider, Secret: distributed.Secret, Registrations: []Registration{both}}, at: after(91*day + time.Hour), write: "current 1", phase: retiring, trust: "", message: "expired"},
		"the current certificate has expired":                   {facts: Facts{Provider: otherProvider, Secret: expired.Secret, Registrations: []Registration{trusting(third, second)}}, at: after(91*day + time.Hour), phase: promoting, trust: "3", message: "expired at 2026-05-31T12:00:00Z; a new certificate replaces it as soon as theirs has issued one"},
		"the previous certificate has expired, too":             {facts: Facts{Provider: otherProvider, Secret: expired.Secret, Registrations: []Registration{trusting(third, second)}, Live: true}, at: after(92 * day), write: "current 2, promoted", phase: promoting, message: "expired"},
		"issued for another name":                               {facts: Facts{Provider: otherProvider, Live: true, Issued: &issued, Names: DNSNames("other", "shop")}, phase: bootstrap},
		"issued, and not valid yet":                             {facts: Facts{Provider: otherProvider, Live: true, Issued: &issued}, phase: bootstrap, message: "the certificate of theirs is valid only from 2026-03-02T11:55:00Z, which is yet to come: compare the clocks of the nodes; the manager uses it from then on"},
		"issued without a certificate":                          {facts: Facts{Provider: otherProvider, Live: true, Issued: &Generation{CA: first.CA}}, phase: bootstrap},
		"issued by another CA":                                  {facts: Facts{Provider: otherProvider, Live: true, Issued: &Generation{CA: first.CA, Certificate: second.Certificate, Key: second.Key}}, phase: bootstrap},
	} {
		t.Run(name, c.check)
	}
}

// CAs of other issuers have no number. If the Secret is lost, the numbering continues from the
// registrations. With a lower number they would not be written.
func TestGenerationNumbersContinue(t *testing.T) {
	first, second := minted(t, 1, start), minted(t, 2, start)
	first.Number, second.Number = 0, 0
	registered := []Registration{{Name: "v", CABundle: first.CA, Generation: 7}}
	secret := secretWith(t, first)
	waiting := secret.next(second, start).change(start, editor.emptyPair)
	for name, test := range map[string]struct {
		facts Facts
		want  int64
	}{
		"the Secret is lost":                     {Facts{Issued: &second}, 8},
		"the annotations are lost":               {Facts{Secret: secret.with(func(s *corev1.Secret) { s.Annotations = nil }).Secret}, 8},
		"annotations and certificate are lost":   {Facts{Secret: waiting.with(func(s *corev1.Secret) { s.Annotations = nil }).Secret, Issued: &second}, 8},
		"pods were restarted for a later number": {Facts{Issued: &second, RestartedFor: "9"}, 10},
		"another client's number":                {Facts{Issued: &second, RestartedFor: "99999999999"}, 8},
	} {
		test.facts.Provider, test.facts.Registrations, test.facts.Live, test.facts.Names = "theirs", registered, true, names
		installtest.Same(t, name+": the generation", test.want, Decide(test.facts, DefaultPolicy(), start).Generation)
	}
}

func TestProviderAnnotationIsRestored(t *testing.T) {
	g := minted(t, 1, start)
	secret := secretWith(t, g).with(func(s *corev1.Secret) { delete(s.Annotations, wellknown.AnnotationCertificateProvider) }).Secret
	d := Decide(Facts{Provider: "theirs", Issued: &g, Secret: secret, Names: names}, DefaultPolicy(), start)
	if d.Write == nil || d.Serving.Provider != "theirs" {
		t.Errorf("the issuer is %s", d.Serving.Provider)
	}
}

// A rotation request for another issuer is sent to the issuer once. It is complete when the issuer
// has issued. A compromised CA is not trusted meanwhile, unless it is the issuer's own.
func TestRotationRequestsOfOtherIssuers(t *testing.T) {
	first, second, third := minted(t, 1, start), minted(t, 2, after(day)), minted(t, 3, after(2*day))
	issued, replaced := second, third
	issued.Number, replaced.Number = 0, 0
	managers := secretWith(t, first)
	serving := managers.change(after(day), func(e editor) {
		e.Provider = "theirs"
		e.storeNext(managers.assembled(issued))
	}).promoted(after(day))
	settled := serving.change(after(day), editor.endRotation)
	distributing2 := settled.change(after(2*day), func(e editor) { e.storeNext(settled.assembled(replaced)) })
	evidence := &Evidence{Leaf: serving.assembled(second).leaf(), Backends: []Backend{{Pod: "a", Serves: ServesOther, Message: "pod a serves another"}}}
	facts := func(secret storedSecret, order string, issued *Generation) Facts {
		return Facts{Provider: "theirs", Secret: secret.Secret, Registrations: []Registration{trusting(second)}, Live: true, RotationRequest: order, Issued: issued}
	}
	followed := facts(settled.with(func(s *corev1.Secret) { s.Annotations[wellknown.AnnotationLastRotationRequest] = "a" }), "a", &issued)
	probing := facts(serving.change(after(day), editor.endPreviousTrust), "compromised a", nil)
	probing.Evidence = evidence
	for name, c := range map[string]decision{
		"requested":                                              {facts: facts(settled, "a", &issued), phase: stable, trust: "2", reissues: true},
		"requested, and reissue in progress":                     {facts: facts(settled, "a", nil), phase: stable, trust: "2"},
		"requested, and issued":                                  {facts: facts(settled, "a", &replaced), write: "current 2, next 3", phase: distributing, trust: "3 2"},
		"carried out":                                            {facts: followed, phase: stable, trust: "2"},
		"requested during a rotation":                            {facts: facts(distributing2, "a", &replaced), phase: distributing, trust: "3 2", message: "does not trust"},
		"requested without a valid pair":                         {facts: facts(settled, "a", &Generation{CA: second.CA}), phase: stable, trust: "2"},
		"compromised":                                            {facts: facts(settled, "compromised a", &issued), phase: stable, trust: "2", reissues: true},
		"compromised during the promotion":                       {facts: facts(serving, "compromised a", &issued), write: "current 2, promoted", phase: promoting, trust: "2", reissues: true},
		"compromised, probing pods":                              {facts: probing, phase: promoting, trust: "2", message: "not every endpoint is observed to serve the new certificate (0/1 new, 1 old, 0 unknown): pod a serves another; calls to it fail until it does"},
		"compromised during a rotation":                          {facts: facts(distributing2, "compromised a", &replaced), phase: distributing, trust: "3 2", message: "the key that theirs issued last is compromised as well, and a new one is requested", reissues: true},
		"compromised during a rotation, and reissue in progress": {facts: facts(distributing2, "compromised a", nil), write: "current 2", phase: stable, trust: "2"},
		"compromised, and issued":                                {facts: facts(settled, "compromised a", &replaced), write: "current 3, promoted", phase: promoting, trust: "3"},
	} {
		c.at = after(2 * day)
		t.Run(name, c.check)
	}
}

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
