package certs

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

const refusal = "the API server refuses webhook w"

// A registration that cannot be written holds up the others for a tenth of what is left of the
// certificate, and not at all where the Secret is lost: pods cannot start meanwhile.
func TestOneRegistrationCannotBeWritten(t *testing.T) {
	first, second := minted(t, 1, start), minted(t, 2, after(due))
	both := trusting(second, first)
	late := func(refused string, trusts ...Generation) Registration {
		return Registration{Name: "webhook w", Version: "1", CABundle: cas(trusts...), Refused: refused}
	}
	distributed := holding(t, first).next(second, after(due))
	hidden := distributed.change(after(due), func(m *decider, s *corev1.Secret) {
		m.Registrations = []Registration{trusting(first)}
		m.edit().emptyPair(s)
	})
	tenth := due + 3*day
	for name, c := range map[string]decision{
		"for a tenth of what is left": {
			facts: Facts{Secret: distributed.Secret, Registrations: []Registration{both, late(refusal, first)}, Live: true}, at: after(tenth - time.Second),
			phase: distributing, trust: "2 1", says: "webhook w does not trust the next certificate yet: " + refusal + "; from 2026-05-03T12:00:00Z on the other registrations do not wait for it any longer, and its calls fail then",
		},
		"and not longer": {
			facts: Facts{Secret: distributed.Secret, Registrations: []Registration{both, late(refusal, first)}, Live: true}, at: after(tenth),
			write: "current 1, next 2, trusted", phase: distributing, trust: "2 1",
		},
		"and not longer, also where nobody says why": {
			facts: Facts{Secret: distributed.Secret, Registrations: []Registration{both, late("", first)}, Live: true}, at: after(tenth),
			write: "current 1, next 2, trusted", phase: distributing, trust: "2 1",
		},
		"its settle time is that of the others": {
			facts: Facts{Secret: distributed.trusted(after(tenth), both).Secret, Registrations: []Registration{both, late(refusal, first)}, Live: true}, at: after(tenth + 4*time.Second),
			phase: distributing, trust: "2 1", says: "API servers are given time",
		},
		"pods are given the next one": {
			facts: Facts{Secret: distributed.trusted(after(tenth), both).Secret, Registrations: []Registration{both, late(refusal, first)}, Live: true}, at: after(tenth + 5*time.Second),
			write: "current 2, previous 1, promoted", phase: promoting, trust: "2 1", says: "calls of webhook w fail, because it does not trust the certificate that pods are given: " + refusal,
		},
		"one that can be written after all, before": {
			facts: Facts{Secret: distributed.trusted(after(due+time.Second), both).Secret, Registrations: []Registration{both, {Name: "webhook w", Version: "2", CABundle: both.CABundle}}, Live: true}, at: after(due + 8*time.Second),
			write: "current 1, next 2, trusted", phase: distributing, trust: "2 1",
		},
		"one that was last written for the generation before": {
			facts: Facts{Secret: distributed.Secret, Registrations: []Registration{both, {Name: "webhook w", CABundle: both.CABundle, Generation: 1, Refused: refusal}}, Live: true}, at: after(tenth),
			write: "current 1, next 2, trusted", phase: distributing, trust: "2 1",
		},
		"one that is lost already is not waited for again": {
			facts: Facts{Secret: distributed.Secret, Registrations: []Registration{both, late(refusal)}, Live: true}, at: after(due + 3*time.Minute),
			write: "current 1, next 2, trusted", phase: distributing, trust: "2 1", says: "calls of webhook w fail",
		},
		"there are no others": {
			facts: Facts{Secret: distributed.Secret, Registrations: []Registration{late(refusal, first)}, Live: true}, at: after(89 * day),
			phase: distributing, trust: "2 1", says: "webhook w does not trust the next certificate yet: " + refusal,
		},
		"there are no others, and nothing to lose": {
			facts: Facts{Secret: distributed.Secret, Registrations: []Registration{late(refusal, first)}, Live: true}, at: after(90*day + 5*time.Minute),
			write: "current 2, promoted", phase: promoting, trust: "2", says: "calls of webhook w fail",
		},
		"nobody knows since when it is waited for": {
			facts: Facts{Secret: distributed.with(func(s *corev1.Secret) { delete(s.Annotations, wellknown.AnnotationNextStoredAt) }).Secret, Registrations: []Registration{both, late(refusal, first)}, Live: true}, at: after(tenth),
			write: "current 1, next 2", phase: distributing, trust: "2 1",
		},
		"the Secret is lost": {
			facts: Facts{Secret: hidden.Secret, Registrations: []Registration{both, late(refusal, first)}, Live: true}, at: after(due + time.Second),
			write: "next 2, previous 1, trusted", phase: distributing, trust: "2 1", says: "the certificate is missing",
		},
		"the Secret is lost, and pods are given another": {
			facts: Facts{Secret: hidden.trusted(after(due), both).Secret, Registrations: []Registration{both, late(refusal, first)}, Live: true}, at: after(due + 5*time.Second),
			write: "current 2, previous 1, promoted", phase: promoting, trust: "2 1", says: "calls of webhook w fail",
		},
		"the Secret is lost, and nobody refuses": {
			facts: Facts{Secret: hidden.Secret, Registrations: []Registration{both, late("", first)}, Live: true}, at: after(due + lostSecretTimeout - time.Second),
			phase: distributing, trust: "2 1", says: "webhook w does not trust the next certificate yet; from 2026-04-30T12:15:00Z on",
		},
		"the Secret is lost, and nobody refuses for long": {
			facts: Facts{Secret: hidden.Secret, Registrations: []Registration{both, late("", first)}, Live: true}, at: after(due + lostSecretTimeout),
			write: "next 2, previous 1, trusted", phase: distributing, trust: "2 1", says: "the certificate is missing",
		},
		"the Secret is lost, and there are no others": {
			facts: Facts{Secret: hidden.Secret, Registrations: []Registration{late(refusal, first)}, Live: true}, at: after(due + day),
			phase: distributing, trust: "2 1", says: "webhook w does not trust the next certificate yet",
		},
		"another changes all the time: the settle time begins once more": {
			facts: Facts{Secret: distributed.trusted(after(tenth-time.Second), trusting(first)).Secret, Registrations: []Registration{both}, Live: true}, at: after(tenth),
			write: "current 1, next 2, trusted", phase: distributing, trust: "2 1",
		},
		"another changes all the time: the settle time is over": {
			facts: Facts{Secret: distributed.trusted(after(tenth), trusting(first)).Secret, Registrations: []Registration{both}, Live: true}, at: after(tenth + 5*time.Second),
			write: "current 2, previous 1, promoted", phase: promoting, trust: "2 1",
		},
	} {
		t.Run(name, c.check)
	}
}

// What cannot be written is lost, and does not keep the certificate of the others from being at
// rest. What can be written is no loss: it is corrected.
func TestLostRegistrations(t *testing.T) {
	first, second := minted(t, 1, start), minted(t, 2, after(due))
	secret := holding(t, second).Secret
	stuck := Registration{Name: "webhook w", CABundle: first.CA, Refused: refusal}
	edited := Registration{Name: "webhook x", CABundle: first.CA}
	trusted := Registration{Name: "webhook y", CABundle: second.CA, Refused: refusal}
	d := Decide(Facts{Secret: secret, SecretMeta: blank, Names: names, Registrations: []Registration{trusting(second), stuck, trusted}, Live: true}, DefaultPolicy(), after(due))
	if !slices.Equal(d.LostRegistrations, []string{"webhook w"}) || d.Phase != stable || !strings.Contains(d.Message, refusal) {
		t.Errorf("%v are lost in phase %s, want webhook w in phase %s: %s", d.LostRegistrations, d.Phase, stable, d.Message)
	}
	d = Decide(Facts{Secret: secret, SecretMeta: blank, Names: names, Registrations: []Registration{trusting(second), edited}, Live: true}, DefaultPolicy(), after(due))
	if len(d.LostRegistrations) > 0 || d.Phase != retiring {
		t.Errorf("%v are lost in phase %s, want none in phase %s", d.LostRegistrations, d.Phase, retiring)
	}
}
