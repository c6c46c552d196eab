package certs

import (
	"testing"
	"time"
)

// Steps of a rotation without a fault.
func TestRotation(t *testing.T) {
	first, second := minted(t, 1, start), minted(t, 2, after(due))
	secret := secretWith(t, first)
	distributed := secret.next(second, after(due))
	both, one, other := trusting(second, first), trusting(first), trusting(second)
	promoted := distributed.trusted(after(due), both).promoted(after(due + time.Minute))
	ten := 10
	seconds := func(n int) time.Time { return after(due + time.Duration(n)*time.Second) }
	seen := func(backends ...Backend) *Evidence {
		return &Evidence{Leaf: promoted.assembled(second).leaf(), Backends: backends}
	}
	for name, c := range map[string]decision{
		"no Secret, from caches":                       {need: NeedIssued, phase: bootstrap},
		"no Secret while pods run, from caches":        {facts: Facts{Running: true}, need: NeedLive, phase: bootstrap},
		"the first generation becomes current at once": {facts: Facts{Issued: &first}, write: "current 1", phase: stable, trust: "1"},
		"stable": {facts: cached(secret, one), phase: stable, trust: "1"},
		"renewal is due, the number of rotations is not known": {
			facts: cached(secret, one), at: after(due),
			need: NeedRotating, phase: stable, trust: "1",
		},
		"renewal is due, no free rotation slot": {
			facts: Facts{Secret: secret.Secret, Registrations: []Registration{one}, Rotating: &ten}, at: after(due),
			phase: stable, trust: "1", message: "waits for a free rotation slot: 10 others are being replaced",
		},
		"renewal is urgent": {
			facts: Facts{Secret: secret.Secret, Registrations: []Registration{one}, Rotating: &ten}, at: after(88 * day),
			need: NeedIssued, phase: stable, trust: "1",
		},
		"renewal is due": {
			facts: Facts{Secret: secret.Secret, Registrations: []Registration{one}, Rotating: new(int)}, at: after(due),
			need: NeedIssued, phase: stable, trust: "1",
		},
		"the next generation is stored": {
			facts: Facts{Secret: secret.Secret, Registrations: []Registration{one}, Rotating: new(int), Issued: &second}, at: after(due),
			write: "current 1, next 2", phase: distributing, trust: "2 1",
		},
		"one registration does not trust next": {
			facts: live(distributed, both, Registration{Name: "webhook w", CABundle: first.CA}), at: seconds(1),
			phase: distributing, trust: "2 1", message: "webhook w does not trust the next certificate yet",
		},
		"all trust next, and one was last written for the previous generation": {
			facts: live(distributed, both, Registration{Name: "webhook w", CABundle: both.CABundle, Generation: 1}), at: seconds(1),
			phase: distributing, trust: "2 1", message: "webhook w does not report yet that it trusts certificate generation 2",
		},
		"all trust next, from caches": {facts: cached(distributed, both), at: seconds(1), need: NeedLive, phase: distributing, trust: "2 1"},
		"all trust next, and were written for it: the settle time begins": {
			facts: live(distributed, both, Registration{Name: "webhook w", CABundle: both.CABundle, Generation: 2}), at: seconds(1),
			write: "current 1, next 2, trusted", phase: distributing, trust: "2 1",
		},
		"settling": {
			facts: live(distributed.trusted(seconds(1), both), both), at: seconds(5),
			phase: distributing, trust: "2 1", message: "until 2026-04-30T12:00:06Z",
		},
		"settling, and all API servers have observed it": {
			facts: proved(live(distributed.trusted(seconds(1), both), both)), at: seconds(1),
			write: "current 2, previous 1, promoted", phase: promoting, trust: "2 1",
		},
		"settled, and an API server has not observed it": {
			facts: proved(live(distributed.trusted(seconds(1), both), both), "192.0.2.1:6443"), at: seconds(3600),
			phase: distributing, trust: "2 1", message: "these API servers do not use the next certificate yet: 192.0.2.1:6443",
		},
		"all trust next, and one does not trust current": {
			facts: live(distributed, both, Registration{Name: "webhook w", CABundle: second.CA}), at: seconds(119),
			phase: distributing, trust: "2 1", message: "webhook w does not trust the certificate that pods serve: until 2026-04-30T12:02:00Z it is waited for",
		},
		"one was edited after the settle time and does not trust current": {
			facts: live(distributed.trusted(seconds(1), both, other), both, other), at: seconds(6),
			phase: distributing, trust: "2 1", message: "does not trust the certificate that pods serve",
		},
		"one does not trust current, at the deadline": {
			facts: live(distributed, both, other), at: seconds(120),
			write: "current 1, next 2, trusted", phase: distributing, trust: "2 1",
		},
		"one does not trust current, at the deadline, settled": {
			facts: live(distributed.trusted(seconds(120), both, other), both, other), at: seconds(125),
			write: "current 2, previous 1, promoted", phase: promoting, trust: "2 1",
		},
		"one does not trust current, which expires soon": {
			facts: live(secret.next(second, after(88*day)), both, other), at: after(88*day + time.Second),
			write: "current 1, next 2, trusted", phase: distributing, trust: "2 1",
		},
		"settled, from caches": {
			facts: cached(distributed.trusted(seconds(1), both), both), at: seconds(6),
			need: NeedPropagation, phase: distributing, trust: "2 1",
		},
		"settled": {
			facts: live(distributed.trusted(seconds(1), both), both), at: seconds(6),
			write: "current 2, previous 1, promoted", phase: promoting, trust: "2 1",
		},
		"a registration changed after the settle time began": {
			facts: live(distributed.trusted(seconds(1), both), both, trusting(second, first, first)), at: seconds(6),
			write: "current 1, next 2, trusted", phase: distributing, trust: "2 1",
		},
		"a registration lost its trust after the settle time began": {
			facts: live(distributed.trusted(seconds(1), both), one), at: seconds(6),
			phase: distributing, trust: "2 1", message: "does not trust",
		},
		"no registration": {
			facts: Facts{Secret: distributed.Secret, Live: true}, at: seconds(1),
			write: "current 2, previous 1, promoted", phase: promoting, trust: "2 1",
		},
		"pods are not probed yet": {facts: live(promoted, both), at: seconds(61), need: NeedEvidence, phase: promoting, trust: "2 1"},
		"pods were probed, other facts from caches": {
			facts: Facts{Secret: promoted.Secret, Registrations: []Registration{both}, Evidence: seen()}, at: seconds(61),
			need: NeedEvidence, phase: promoting, trust: "2 1",
		},
		"pods were probed for another certificate": {
			facts: Facts{Secret: promoted.Secret, Registrations: []Registration{both}, Live: true, Evidence: &Evidence{Leaf: "another"}}, at: seconds(61),
			phase: promoting, trust: "2 1",
		},
		"one of two pods serves current": {
			facts: Facts{Secret: promoted.Secret, Registrations: []Registration{both}, Live: true, Evidence: seen(
				Backend{Pod: "a"}, Backend{Pod: "b", Serves: ServesOther, Message: "pod b serves another certificate"})}, at: seconds(61),
			phase: promoting, trust: "2 1", message: "(1/2 new, 1 old, 0 unknown): pod b serves another certificate; the previous CA stays trusted, at most until 2026-05-30T12:00:00Z",
		},
		"a new pod is not ready": {
			facts: Facts{Secret: promoted.Secret, Registrations: []Registration{both}, Live: true, Evidence: seen(
				Backend{Pod: "a"}, Backend{Pod: "b"}, Backend{Pod: "c", Serves: ServesUnknown, Created: seconds(60), Message: "pod c has no address yet"})}, at: seconds(61),
			phase: promoting, trust: "2 1", message: "(2/3 new, 0 old, 1 unknown): pod c has no address yet; the previous CA stays trusted, at most until 2026-05-30T12:00:00Z",
		},
		"a new pod serves previous": {
			facts: Facts{Secret: promoted.Secret, Registrations: []Registration{both}, Live: true, Evidence: seen(
				Backend{Pod: "a"}, Backend{Pod: "b"}, Backend{Pod: "c", Serves: ServesOther, Created: seconds(60), Message: "pod c serves another certificate"})}, at: seconds(71),
			phase: promoting, trust: "2 1", message: "(2/3 new, 1 old, 0 unknown): pod c serves another certificate; the previous CA stays trusted, at most until 2026-05-30T12:00:00Z",
		},
		"all pods serve current": {
			facts: Facts{Secret: promoted.Secret, Registrations: []Registration{both}, Live: true, Evidence: seen(Backend{Pod: "a"}, Backend{Pod: "b"})}, at: seconds(61),
			write: "current 2", phase: retiring, trust: "2",
		},
		"no pod": {
			facts: Facts{Secret: promoted.Secret, Registrations: []Registration{both}, Live: true, Evidence: seen()}, at: seconds(61),
			write: "current 2", phase: retiring, trust: "2",
		},
		"previous has expired": {
			facts: Facts{Secret: promoted.Secret, Registrations: []Registration{both}, Live: true, Evidence: seen(Backend{Pod: "a", Serves: ServesUnknown})}, at: after(90 * day),
			write: "current 2", phase: retiring, trust: "2",
		},
		"the registrations trust current alone": {
			facts: cached(promoted.change(seconds(62), editor.endRotation), other), at: seconds(62),
			phase: stable, trust: "2",
		},
	} {
		t.Run(name, c.check)
	}
}
