package certs

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// The way of a rotation that nothing disturbs.
func TestRotation(t *testing.T) {
	first, second := minted(t, 1, start), minted(t, 2, after(due))
	secret := holding(t, first)
	distributed := secret.next(second, after(due))
	both, one, other := trusting(second, first), trusting(first), trusting(second)
	promoted := distributed.trusted(after(due), both).promoted(after(due + time.Minute))
	ten := 10
	seconds := func(n int) time.Time { return after(due + time.Duration(n)*time.Second) }
	seen := func(backends ...Backend) *Evidence {
		return &Evidence{Leaf: promoted.assembled(second).leaf(), Backends: backends}
	}
	for name, c := range map[string]decision{
		"nothing is there, by caches": {
			need: NeedIssued, phase: bootstrap,
		},
		"nothing is there but pods: caches do not do": {
			facts: Facts{Running: true},
			need:  NeedLive, phase: bootstrap,
		},
		"the first generation is given to pods at once": {
			facts: Facts{Issued: &first},
			write: "current 1", phase: stable, trust: "1",
		},
		"in its prime": {
			facts: Facts{Secret: secret.Secret, Registrations: []Registration{one}},
			phase: stable, trust: "1",
		},
		"due, and it is not known how many others are": {
			facts: Facts{Secret: secret.Secret, Registrations: []Registration{one}}, at: after(due),
			need: NeedRotating, phase: stable, trust: "1",
		},
		"due, and it is not its turn": {
			facts: Facts{Secret: secret.Secret, Registrations: []Registration{one}, Rotating: &ten}, at: after(due),
			phase: stable, trust: "1", says: "waits for its turn: 10 others are being replaced",
		},
		"due for long": {
			facts: Facts{Secret: secret.Secret, Registrations: []Registration{one}, Rotating: &ten}, at: after(88 * day),
			need: NeedIssued, phase: stable, trust: "1",
		},
		"due": {
			facts: Facts{Secret: secret.Secret, Registrations: []Registration{one}, Rotating: new(int)}, at: after(due),
			need: NeedIssued, phase: stable, trust: "1",
		},
		"the next generation is stored": {
			facts: Facts{Secret: secret.Secret, Registrations: []Registration{one}, Rotating: new(int), Issued: &second}, at: after(due),
			write: "current 1, next 2", phase: distributing, trust: "2 1",
		},
		"not all trust it": {
			facts: Facts{Secret: distributed.Secret, Registrations: []Registration{both, {Name: "webhook w", CABundle: first.CA}}, Live: true}, at: seconds(1),
			phase: distributing, trust: "2 1", says: "webhook w does not trust the next certificate yet",
		},
		"all trust it, and one was last written for the generation before": {
			facts: Facts{Secret: distributed.Secret, Registrations: []Registration{both, {Name: "webhook w", CABundle: both.CABundle, Generation: 1}}, Live: true}, at: seconds(1),
			phase: distributing, trust: "2 1", says: "webhook w does not say yet that it trusts certificate generation 2",
		},
		"all trust it, and say so": {
			facts: Facts{Secret: distributed.Secret, Registrations: []Registration{both, {Name: "webhook w", CABundle: both.CABundle, Generation: 2}}, Live: true}, at: seconds(1),
			write: "current 1, next 2, trusted", phase: distributing, trust: "2 1",
		},
		"all trust it, by caches": {
			facts: Facts{Secret: distributed.Secret, Registrations: []Registration{both}}, at: seconds(1),
			need: NeedLive, phase: distributing, trust: "2 1",
		},
		"all trust it, and API servers have to learn": {
			facts: Facts{Secret: distributed.Secret, Registrations: []Registration{both}, Live: true}, at: seconds(1),
			write: "current 1, next 2, trusted", phase: distributing, trust: "2 1",
		},
		"API servers learn": {
			facts: Facts{Secret: distributed.trusted(seconds(1), both).Secret, Registrations: []Registration{both}}, at: seconds(5),
			phase: distributing, trust: "2 1", says: "until 2026-04-30T12:00:06Z",
		},
		"all trust the next one, and one not the one before": {
			facts: Facts{Secret: distributed.Secret, Registrations: []Registration{both, {Name: "webhook w", CABundle: second.CA}}, Live: true}, at: seconds(119),
			phase: distributing, trust: "2 1", says: "webhook w does not trust the certificate that pods serve: until 2026-04-30T12:02:00Z it is waited for",
		},
		"that one was edited when API servers had learnt": {
			facts: Facts{Secret: distributed.trusted(seconds(1), both, other).Secret, Registrations: []Registration{both, other}, Live: true}, at: seconds(6),
			phase: distributing, trust: "2 1", says: "does not trust the certificate that pods serve",
		},
		"that one is not written again": {
			facts: Facts{Secret: distributed.Secret, Registrations: []Registration{both, other}, Live: true}, at: seconds(120),
			write: "current 1, next 2, trusted", phase: distributing, trust: "2 1",
		},
		"that one is not, and API servers have learnt": {
			facts: Facts{Secret: distributed.trusted(seconds(120), both, other).Secret, Registrations: []Registration{both, other}, Live: true}, at: seconds(125),
			write: "current 2, previous 1, promoted", phase: promoting, trust: "2 1",
		},
		"that one is not, and the one before is about to end": {
			facts: Facts{Secret: secret.next(second, after(88*day)).Secret, Registrations: []Registration{both, other}, Live: true}, at: after(88*day + time.Second),
			write: "current 1, next 2, trusted", phase: distributing, trust: "2 1",
		},
		"API servers have learnt, by caches": {
			facts: Facts{Secret: distributed.trusted(seconds(1), both).Secret, Registrations: []Registration{both}}, at: seconds(6),
			need: NeedLive, phase: distributing, trust: "2 1",
		},
		"API servers have learnt": {
			facts: Facts{Secret: distributed.trusted(seconds(1), both).Secret, Registrations: []Registration{both}, Live: true}, at: seconds(6),
			write: "current 2, previous 1, promoted", phase: promoting, trust: "2 1",
		},
		"somebody changed a registration since": {
			facts: Facts{Secret: distributed.trusted(seconds(1), both).Secret, Registrations: []Registration{both, trusting(second, first, first)}, Live: true}, at: seconds(6),
			write: "current 1, next 2, trusted", phase: distributing, trust: "2 1",
		},
		"somebody took the trust away since": {
			facts: Facts{Secret: distributed.trusted(seconds(1), both).Secret, Registrations: []Registration{one}, Live: true}, at: seconds(6),
			phase: distributing, trust: "2 1", says: "does not trust",
		},
		"nobody is called any more": {
			facts: Facts{Secret: distributed.Secret, Live: true}, at: seconds(1),
			write: "current 2, previous 1, promoted", phase: promoting, trust: "2 1",
		},
		"pods have not been asked": {
			facts: Facts{Secret: promoted.Secret, Registrations: []Registration{both}, Live: true}, at: seconds(61),
			need: NeedEvidence, phase: promoting, trust: "2 1",
		},
		"pods were asked, and the rest is from caches": {
			facts: Facts{Secret: promoted.Secret, Registrations: []Registration{both}, Evidence: seen()}, at: seconds(61),
			need: NeedEvidence, phase: promoting, trust: "2 1",
		},
		"pods were asked for another certificate": {
			facts: Facts{Secret: promoted.Secret, Registrations: []Registration{both}, Live: true, Evidence: &Evidence{Leaf: "another"}}, at: seconds(61),
			phase: promoting, trust: "2 1",
		},
		"one pod serves it": {
			facts: Facts{Secret: promoted.Secret, Registrations: []Registration{both}, Live: true, Evidence: seen(
				Backend{Pod: "a"}, Backend{Pod: "b", Serves: ServesOther, Message: "pod b serves another certificate"})}, at: seconds(61),
			phase: promoting, trust: "2 1", says: "(1/2 new, 1 old, 0 unknown): pod b serves another certificate; the CA before stays trusted, at most until 2026-05-30T12:00:00Z",
		},
		"a pod comes meanwhile, and others serve it": {
			facts: Facts{Secret: promoted.Secret, Registrations: []Registration{both}, Live: true, Evidence: seen(
				Backend{Pod: "a"}, Backend{Pod: "b"}, Backend{Pod: "c", Serves: ServesUnknown, Created: seconds(60), Message: "pod c has no address yet"})}, at: seconds(61),
			phase: promoting, trust: "2 1", says: "(2/3 new, 0 old, 1 unknown): pod c has no address yet; the CA before stays trusted, at most until 2026-05-30T12:00:00Z",
		},
		"it had mounted the one before": {
			facts: Facts{Secret: promoted.Secret, Registrations: []Registration{both}, Live: true, Evidence: seen(
				Backend{Pod: "a"}, Backend{Pod: "b"}, Backend{Pod: "c", Serves: ServesOther, Created: seconds(60), Message: "pod c serves another certificate"})}, at: seconds(71),
			phase: promoting, trust: "2 1", says: "(2/3 new, 1 old, 0 unknown): pod c serves another certificate; the CA before stays trusted, at most until 2026-05-30T12:00:00Z",
		},
		"all pods serve it": {
			facts: Facts{Secret: promoted.Secret, Registrations: []Registration{both}, Live: true, Evidence: seen(Backend{Pod: "a"}, Backend{Pod: "b"})}, at: seconds(61),
			write: "current 2", phase: retiring, trust: "2",
		},
		"there is no pod": {
			facts: Facts{Secret: promoted.Secret, Registrations: []Registration{both}, Live: true, Evidence: seen()}, at: seconds(61),
			write: "current 2", phase: retiring, trust: "2",
		},
		"what pods serve has ended": {
			facts: Facts{Secret: promoted.Secret, Registrations: []Registration{both}, Live: true, Evidence: seen(Backend{Pod: "a", Serves: ServesUnknown})}, at: after(90 * day),
			write: "current 2", phase: retiring, trust: "2",
		},
		"the registrations follow": {
			facts: Facts{Secret: promoted.change(seconds(62), func(m *decider, s *corev1.Secret) { m.edit().forgetPrevious(s) }).Secret, Registrations: []Registration{other}}, at: seconds(62),
			phase: stable, trust: "2",
		},
	} {
		t.Run(name, c.check)
	}
}
