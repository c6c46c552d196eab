package certs

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

const (
	refusal = "the API server refuses webhook w"
	contest = "a client reverts webhook z"
)

// A registration that cannot be written delays the others by a tenth of the remaining validity. If
// the Secret is lost, it does not delay them: pods cannot start meanwhile.
func TestRegistrationDeadlines(t *testing.T) {
	first, second := minted(t, 1, start), minted(t, 2, after(due))
	both := trusting(second, first)
	late := func(refused string, trusts ...Generation) Registration {
		return Registration{Name: "webhook w", Version: "1", CABundle: cas(trusts...), Refused: refused}
	}
	contested := func(trusts ...Generation) Registration {
		return Registration{Name: "webhook w", Version: "1", CABundle: cas(trusts...), Contested: contest, Blocked: true}
	}
	writable := func(trusts ...Generation) Registration {
		return Registration{Name: "webhook w", Version: "1", CABundle: cas(trusts...), Contested: contest}
	}
	distributed := secretWith(t, first).next(second, after(due))
	hidden := distributed.change(after(due), func(e editor) {
		e.Registrations = []Registration{trusting(first)}
		e.emptyPair()
	})
	tenth := due + 3*day
	for name, c := range map[string]decision{
		"before the deadline": {
			facts: live(distributed, both, late(refusal, first)), at: after(tenth - time.Second),
			phase: distributing, trust: "2 1", message: "webhook w does not trust the next certificate yet: " + refusal + "; from 2026-05-03T12:00:00Z on the other registrations do not wait for it any longer, and its calls fail then",
		},
		"at the deadline": {
			facts: live(distributed, both, late(refusal, first)), at: after(tenth),
			write: "current 1, next 2, trusted", phase: distributing, trust: "2 1",
		},
		"at the deadline, without a refusal": {
			facts: live(distributed, both, late("", first)), at: after(tenth),
			write: "current 1, next 2, trusted", phase: distributing, trust: "2 1",
		},
		"settling": {
			facts: live(distributed.trusted(after(tenth), both), both, late(refusal, first)), at: after(tenth + 4*time.Second),
			phase: distributing, trust: "2 1", message: "API servers are given time",
		},
		"settled": {
			facts: live(distributed.trusted(after(tenth), both), both, late(refusal, first)), at: after(tenth + 5*time.Second),
			write: "current 2, previous 1, promoted", phase: promoting, trust: "2 1", message: "calls of webhook w fail, because it does not trust the certificate that pods are given: " + refusal,
		},
		"written before the deadline": {
			facts: live(distributed.trusted(after(due+time.Second), both), both, Registration{Name: "webhook w", Version: "2", CABundle: both.CABundle}), at: after(due + 8*time.Second),
			write: "current 1, next 2, trusted", phase: distributing, trust: "2 1",
		},
		"last written for the previous generation": {
			facts: live(distributed, both, Registration{Name: "webhook w", CABundle: both.CABundle, Generation: 1, Refused: refusal}), at: after(tenth),
			write: "current 1, next 2, trusted", phase: distributing, trust: "2 1",
		},
		"lost already": {
			facts: live(distributed, both, late(refusal)), at: after(due + 3*time.Minute),
			write: "current 1, next 2, trusted", phase: distributing, trust: "2 1", message: "calls of webhook w fail",
		},
		"no other registration": {
			facts: live(distributed, late(refusal, first)), at: after(89 * day),
			phase: distributing, trust: "2 1", message: "webhook w does not trust the next certificate yet: " + refusal,
		},
		"no other registration, and all calls fail": {
			facts: live(distributed, late(refusal, first)), at: after(90*day + 5*time.Minute),
			write: "current 2, promoted", phase: promoting, trust: "2", message: "calls of webhook w fail",
		},
		"the time of the step is not recorded": {
			facts: live(distributed.with(func(s *corev1.Secret) { delete(s.Annotations, wellknown.AnnotationNextStoredAt) }), both, late(refusal, first)), at: after(tenth),
			write: "current 1, next 2", phase: distributing, trust: "2 1",
		},
		"lost Secret": {
			facts: live(hidden, both, late(refusal, first)), at: after(due + time.Second),
			write: "next 2, previous 1, trusted", phase: distributing, trust: "2 1", message: "the certificate is missing",
		},
		"lost Secret, settled": {
			facts: live(hidden.trusted(after(due), both), both, late(refusal, first)), at: after(due + 5*time.Second),
			write: "current 2, previous 1, promoted", phase: promoting, trust: "2 1", message: "calls of webhook w fail",
		},
		"contested, before the deadline": {
			facts: live(distributed, both, contested(first)), at: after(tenth - time.Second),
			phase: distributing, trust: "2 1", message: "webhook w does not trust the next certificate yet: " + contest,
		},
		"contested, and lost already": {
			facts: live(distributed, both, contested()), at: after(due + time.Second),
			write: "current 1, next 2, trusted", phase: distributing, trust: "2 1", message: "calls of webhook w fail",
		},
		"lost Secret, contested": {
			facts: live(hidden, both, contested(first)), at: after(due + time.Second),
			write: "next 2, previous 1, trusted", phase: distributing, trust: "2 1", message: "the certificate is missing",
		},
		"lost Secret, contested, the trust is written": {
			facts: live(hidden, both, writable(first)), at: after(due + lostSecretTimeout - time.Second),
			phase: distributing, trust: "2 1", message: "webhook w does not trust the next certificate yet: " + contest,
		},
		"lost Secret, contested, the trust is not written in time": {
			facts: live(hidden, both, writable(first)), at: after(due + lostSecretTimeout),
			write: "next 2, previous 1, trusted", phase: distributing, trust: "2 1", message: "the certificate is missing",
		},
		"contested, lost already, the trust is written": {
			facts: live(distributed, both, writable()), at: after(due + time.Second),
			phase: distributing, trust: "2 1", message: "webhook w does not trust the next certificate yet: " + contest,
		},
		"lost Secret, contested, no other registration": {
			facts: live(hidden, contested(first)), at: after(due + day),
			phase: distributing, trust: "2 1", message: "webhook w does not trust the next certificate yet: " + contest,
		},
		"lost Secret, without a refusal, before the deadline": {
			facts: live(hidden, both, late("", first)), at: after(due + lostSecretTimeout - time.Second),
			phase: distributing, trust: "2 1", message: "webhook w does not trust the next certificate yet; from 2026-04-30T12:15:00Z on",
		},
		"lost Secret, without a refusal, at the deadline": {
			facts: live(hidden, both, late("", first)), at: after(due + lostSecretTimeout),
			write: "next 2, previous 1, trusted", phase: distributing, trust: "2 1", message: "the certificate is missing",
		},
		"lost Secret, no other registration": {
			facts: live(hidden, late(refusal, first)), at: after(due + day),
			phase: distributing, trust: "2 1", message: "webhook w does not trust the next certificate yet",
		},
		"another registration changes: the settle time restarts": {
			facts: live(distributed.trusted(after(tenth-time.Second), trusting(first)), both), at: after(tenth),
			write: "current 1, next 2, trusted", phase: distributing, trust: "2 1",
		},
		"another registration changes after the deadline": {
			facts: live(distributed.trusted(after(tenth), trusting(first)), both), at: after(tenth + 5*time.Second),
			write: "current 2, previous 1, promoted", phase: promoting, trust: "2 1",
		},
	} {
		t.Run(name, c.check)
	}
}

// A registration that cannot be written, because the API server refuses it or another client reverts
// each write, is lost and does not keep the phase from becoming Stable. A
// registration that can be written is corrected, and is not lost.
func TestLostRegistrations(t *testing.T) {
	first, second := minted(t, 1, start), minted(t, 2, after(due))
	secret := secretWith(t, second).Secret
	stuck := Registration{Name: "webhook w", CABundle: first.CA, Refused: refusal}
	contested := Registration{Name: "webhook z", CABundle: first.CA, Contested: contest}
	trustedAndContested := Registration{Name: "webhook a", CABundle: second.CA, Contested: contest}
	edited := Registration{Name: "webhook x", CABundle: first.CA}
	trusted := Registration{Name: "webhook y", CABundle: second.CA, Refused: refusal}
	d := Decide(Facts{Secret: secret, SecretMeta: blank, Names: names, Registrations: []Registration{trusting(second), stuck, trusted}, Live: true}, DefaultPolicy(), after(due))
	if !slices.Equal(d.LostRegistrations, []string{"webhook w"}) || d.Phase != stable || !strings.Contains(d.Message, refusal) {
		t.Errorf("%v are lost in phase %s, want webhook w in phase %s: %s", d.LostRegistrations, d.Phase, stable, d.Message)
	}
	d = Decide(Facts{Secret: secret, SecretMeta: blank, Names: names, Registrations: []Registration{trusting(second), contested, trustedAndContested}, Live: true}, DefaultPolicy(), after(due))
	if !slices.Equal(d.LostRegistrations, []string{"webhook z"}) || d.Phase != stable || !strings.Contains(d.Message, contest) {
		t.Errorf("%v are lost in phase %s, want webhook z in phase %s: %s", d.LostRegistrations, d.Phase, stable, d.Message)
	}
	d = Decide(Facts{Secret: secret, SecretMeta: blank, Names: names, Registrations: []Registration{trusting(second), edited}, Live: true}, DefaultPolicy(), after(due))
	installtest.None(t, "lost registrations", d.LostRegistrations)
	installtest.Same(t, "phase", retiring, d.Phase)
}
