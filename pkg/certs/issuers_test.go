package certs

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// Other issuers than the manager feed the same machine.
func TestIssuers(t *testing.T) {
	const theirs = managerv1alpha1.CertificateProvider("theirs")
	first, second, third := minted(t, 1, start), minted(t, 2, after(day)), minted(t, 3, after(2*day))
	ours := holding(t, first)
	issued, again := second, third
	issued.Number, again.Number = 0, 0
	distributed := ours.change(after(day), func(m *decider, s *corev1.Secret) { m.Issuer = theirs; m.edit().storeNext(s, ours.assembled(issued)) })
	promoted := distributed.promoted(after(day)).change(after(day), func(m *decider, s *corev1.Secret) { m.edit().forgetPrevious(s) })
	one, both := trusting(first), trusting(second, first)
	ended := holding(t, third).next(issued, after(2*day)).promoted(after(2 * day))
	for name, c := range map[string]decision{
		"it has issued nothing yet":              {facts: Facts{Issuer: theirs, Live: true}, phase: bootstrap},
		"its first":                              {facts: Facts{Issuer: theirs, Live: true, Issued: &issued}, at: after(day), write: "current 2", phase: stable, trust: "2"},
		"it takes over, and has issued nothing":  {facts: Facts{Issuer: theirs, Secret: ours.Secret, Registrations: []Registration{one}}, at: after(day), phase: stable, trust: "1"},
		"it takes over":                          {facts: Facts{Issuer: theirs, Secret: ours.Secret, Registrations: []Registration{one}, Issued: &issued}, at: after(day), write: "current 1, next 2", phase: distributing, trust: "2 1"},
		"what is stored already is not anew":     {facts: Facts{Issuer: theirs, Secret: distributed.Secret, Registrations: []Registration{both}, Issued: &issued}, at: after(day), need: NeedLive, phase: distributing, trust: "2 1"},
		"it issues another before it is served":  {facts: Facts{Issuer: theirs, Secret: distributed.Secret, Registrations: []Registration{both}, Issued: &again}, at: after(2 * day), write: "current 1, next 3", phase: distributing, trust: "3 1"},
		"what is served is not anew":             {facts: Facts{Issuer: theirs, Secret: promoted.Secret, Registrations: []Registration{trusting(second)}, Issued: &issued}, at: after(80 * day), phase: stable, trust: "2"},
		"the manager takes over":                 {facts: Facts{Secret: promoted.Secret, Registrations: []Registration{trusting(second)}}, at: after(day), need: NeedIssued, phase: stable, trust: "2"},
		"the manager takes over in the middle":   {facts: Facts{Secret: distributed.Secret, Registrations: []Registration{both}}, at: after(day), write: "current 1", phase: retiring, trust: "1"},
		"its Secret is lost":                     {facts: Facts{Issuer: theirs, Live: true, Registrations: []Registration{trusting(second)}, Issued: &issued}, at: after(day), write: "next 2, previous 2", phase: distributing, trust: "2", says: "missing"},
		"what is next has ended":                 {facts: Facts{Issuer: theirs, Secret: distributed.Secret, Registrations: []Registration{both}}, at: after(91*day + time.Hour), write: "current 1", phase: retiring, trust: "", says: "ended"},
		"what it issued has ended":               {facts: Facts{Issuer: theirs, Secret: ended.Secret, Registrations: []Registration{trusting(third, second)}}, at: after(91*day + time.Hour), phase: promoting, trust: "3", says: "ended at 2026-05-31T12:00:00Z; a new certificate replaces it as soon as theirs has issued one"},
		"so has what pods may serve":             {facts: Facts{Issuer: theirs, Secret: ended.Secret, Registrations: []Registration{trusting(third, second)}, Live: true}, at: after(92 * day), write: "current 2, promoted", phase: promoting, says: "ended"},
		"what it issued is for somebody else":    {facts: Facts{Issuer: theirs, Live: true, Issued: &issued, Names: DNSNames("other", "shop")}, phase: bootstrap},
		"what it issued has not begun":           {facts: Facts{Issuer: theirs, Live: true, Issued: &issued}, phase: bootstrap, says: "what theirs issued is valid only from 2026-03-02T11:55:00Z, which is yet to come: compare the clocks of the nodes; it is taken up then"},
		"what it issued is no certificate":       {facts: Facts{Issuer: theirs, Live: true, Issued: &Generation{CA: first.CA}}, phase: bootstrap},
		"what it issued is signed by another CA": {facts: Facts{Issuer: theirs, Live: true, Issued: &Generation{CA: first.CA, Certificate: second.Certificate, Key: second.Key}}, phase: bootstrap},
	} {
		t.Run(name, c.check)
	}
}

// Other issuers' CAs bear no number: registrations keep the count when the Secret is lost,
// or they would not be written again.
func TestNumbersGoOn(t *testing.T) {
	first, second := minted(t, 1, start), minted(t, 2, start)
	first.Number, second.Number = 0, 0
	registered := []Registration{{Name: "v", CABundle: first.CA, Generation: 7}}
	secret := holding(t, first)
	waiting := secret.next(second, start).change(start, func(m *decider, s *corev1.Secret) { m.edit().emptyPair(s) })
	for name, test := range map[string]struct {
		facts Facts
		want  int64
	}{
		"the Secret is lost":           {Facts{Issued: &second}, 8},
		"its notes are lost":           {Facts{Secret: secret.with(func(s *corev1.Secret) { s.Annotations = nil }).Secret}, 8},
		"they are lost, and it is too": {Facts{Secret: waiting.with(func(s *corev1.Secret) { s.Annotations = nil }).Secret, Issued: &second}, 8},
		"pods were restarted for it":   {Facts{Issued: &second, RestartedFor: "9"}, 10},
		"somebody's number":            {Facts{Issued: &second, RestartedFor: "99999999999"}, 8},
	} {
		t.Run(name, func(t *testing.T) {
			test.facts.Issuer, test.facts.Registrations, test.facts.Live, test.facts.Names = "theirs", registered, true, names
			if got := Decide(test.facts, DefaultPolicy(), start).Generation; got != test.want {
				t.Errorf("the generation is %d, want %d", got, test.want)
			}
		})
	}
}

func TestWhoIssuedIsNotedAgain(t *testing.T) {
	g := minted(t, 1, start)
	secret := holding(t, g).with(func(s *corev1.Secret) { delete(s.Annotations, wellknown.AnnotationCertificateProvider) }).Secret
	d := Decide(Facts{Issuer: "theirs", Issued: &g, Secret: secret, Names: names}, DefaultPolicy(), start)
	if d.Write == nil || d.Serving.Issuer != "theirs" {
		t.Errorf("the issuer is %s", d.Serving.Issuer)
	}
}
