package certs

import (
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// What is lost, spoiled or replaced while webhooks are called takes the way of any other
// rotation, and pods are not given what somebody else put there.
func TestRepair(t *testing.T) {
	first, second, third, foreign := minted(t, 1, start), minted(t, 2, after(day)), minted(t, 3, after(2*day)), minted(t, 9, after(2*day))
	foreign.Number = 0
	late := minted(t, 4, after(91*day))
	secret := holding(t, first)
	distributed := secret.next(second, after(day))
	promoted := distributed.promoted(after(day))
	overwrite := func(b built) *corev1.Secret {
		return b.edited(corev1.TLSCertKey, foreign.Certificate).edited(corev1.TLSPrivateKeyKey, foreign.Key).edited(wellknown.KeyCA, foreign.CA).Secret
	}
	bare := func(b built) *corev1.Secret {
		return b.with(func(s *corev1.Secret) {
			s.Labels, s.Annotations = nil, nil
			maps.DeleteFunc(s.Data, func(key string, _ []byte) bool {
				return key != corev1.TLSCertKey && key != corev1.TLSPrivateKeyKey && key != wellknown.KeyCA
			})
		}).Secret
	}
	one, both := trusting(first), trusting(second, first)
	at := after(2 * day)
	for name, c := range map[string]decision{
		"lost: caches do not do": {
			facts: Facts{Registrations: []Registration{one}}, at: at,
			need: NeedLive, phase: distributing, trust: "1", says: "the Secret with the serving certificate is gone; a new certificate replaces it",
		},
		"lost": {
			facts: Facts{Registrations: []Registration{both}, Live: true, Issued: &third}, at: at,
			write: "next 3, previous 2 1", phase: distributing, trust: "3 2 1", says: "the certificate is missing",
		},
		"lost, and the caBundle emptied": {
			facts: Facts{Registrations: []Registration{{Name: "v"}}, Live: true, Issued: &third}, at: at,
			write: "next 3", phase: distributing, trust: "3", says: "missing",
		},
		"lost with nothing registered, and pods run": {
			facts: Facts{Live: true, Running: true, Issued: &third}, at: at,
			write: "current 3, promoted", phase: promoting, trust: "3",
		},
		"without its key": {
			facts: Facts{Secret: secret.edited(corev1.TLSPrivateKeyKey, nil).Secret, Registrations: []Registration{one}, Live: true, Issued: &third}, at: at,
			write: "next 3, previous 1", phase: distributing, trust: "3 1", says: "missing",
		},
		"with the key of another: nothing is changed by caches": {
			facts: Facts{Secret: secret.edited(corev1.TLSPrivateKeyKey, second.Key).Secret, Registrations: []Registration{one}}, at: at,
			need: NeedLive, phase: distributing, trust: "1", says: "no pair",
		},
		"a foreign pair, whole and of a piece": {
			facts: Facts{Secret: overwrite(secret), Registrations: []Registration{one}, Live: true, Issued: &third}, at: at,
			write: "next 3, previous 1", phase: distributing, trust: "3 1", says: "missing",
		},
		"a foreign pair while the next is being trusted": {
			facts: Facts{Secret: overwrite(distributed), Registrations: []Registration{both}, Live: true}, at: at,
			write: "next 2, previous 2 1", phase: distributing, trust: "2 1", says: "missing",
		},
		"a foreign pair while the next is being trusted, by caches": {
			facts: Facts{Secret: overwrite(distributed), Registrations: []Registration{one}}, at: at,
			need: NeedLive, phase: distributing, trust: "2 1", says: "is not the one that the manager put there",
		},
		"a foreign pair while pods take the new one up": {
			facts: Facts{Secret: overwrite(promoted), Registrations: []Registration{both}, Live: true, Issued: &third}, at: at,
			write: "next 3, previous 2 1, promoted", phase: distributing, trust: "3 2 1", says: "missing",
		},
		"another Secret in its place": {
			facts: Facts{Secret: holding(t, foreign).with(func(s *corev1.Secret) { s.Annotations = nil }).Secret, Registrations: []Registration{one}, Live: true, Issued: &third}, at: at,
			write: "next 3, previous 1", phase: distributing, trust: "3 1", says: "missing",
		},
		"without notes: an order that was followed is not followed again": {
			facts: Facts{Secret: secret.with(func(s *corev1.Secret) { s.Annotations = nil }).Secret, Registrations: []Registration{one}, Live: true, RotationRequest: "compromised a"}, at: at,
			write: "current 1", phase: stable, trust: "1",
		},
		"without notes, while pods run: whoever does not serve it is not known": {
			facts: Facts{Secret: secret.with(func(s *corev1.Secret) { s.Annotations = nil }).Secret, Registrations: []Registration{one}, Running: true, Live: true}, at: at,
			write: "current 1, promoted", phase: promoting, trust: "1",
		},
		"without notes, by caches": {
			facts: Facts{Secret: bare(promoted), Registrations: []Registration{both}, Running: true}, at: at,
			need: NeedLive, phase: stable, trust: "2 1",
		},
		"without notes, while pods take the new one up": {
			facts: Facts{Secret: bare(promoted), Registrations: []Registration{both}, Running: true, Live: true}, at: at,
			write: "current 2, previous 1, promoted", phase: promoting, trust: "2 1",
		},
		"without notes, while the next one is being trusted": {
			facts: Facts{Secret: bare(distributed), Registrations: []Registration{both}, Live: true}, at: at,
			write: "current 1, previous 2, promoted", phase: promoting, trust: "2 1",
		},
		"without notes, and it cannot be written": {
			facts: Facts{Secret: bare(promoted), Registrations: []Registration{both}, Live: true, ReadOnly: true}, at: at,
			phase: stable, trust: "2 1",
		},
		"without the note of its certificate": {
			facts: Facts{Secret: promoted.with(func(s *corev1.Secret) {
				delete(s.Annotations, wellknown.AnnotationFingerprint)
				delete(s.Data, wellknown.KeyPreviousCAs)
			}).Secret, Registrations: []Registration{both}, Live: true}, at: at,
			write: "current 2, previous 1, promoted", phase: promoting, trust: "2 1",
		},
		"without the CAs of what pods may serve": {
			facts: Facts{Secret: promoted.edited(wellknown.KeyPreviousCAs, nil).Secret, Registrations: []Registration{both}}, at: at,
			need: NeedEvidence, phase: promoting, trust: "2 1",
		},
		"with a next that is none": {
			facts: Facts{Secret: distributed.edited(wellknown.KeyNextKey, []byte("what")).Secret, Registrations: []Registration{one}}, at: at,
			phase: stable, trust: "1",
		},
		"ended while nobody looked": {
			facts: Facts{Secret: secret.Secret, Registrations: []Registration{one}, Issued: &late}, at: after(91 * day),
			write: "current 1, next 4", phase: distributing, trust: "4", says: "the certificate ended at 2026-05-30T12:00:00Z; a new certificate replaces it",
		},
		"ended: nobody waits for API servers to learn": {
			facts: Facts{Secret: secret.next(late, after(91*day)).Secret, Registrations: []Registration{trusting(late)}, Live: true}, at: after(91 * day),
			write: "current 4, promoted", phase: promoting, trust: "4",
		},
		"the clock was set back": {
			facts: Facts{Secret: secret.Secret, Registrations: []Registration{one}}, at: after(-day),
			need: NeedIssued, phase: stable, trust: "1", says: "is valid only from 2026-03-01T11:55:00Z, which is yet to come: compare the clocks of the nodes",
		},
		"for another Service": {
			facts: Facts{Secret: secret.Secret, Registrations: []Registration{one}, Names: DNSNames("other-service", "shop")},
			need:  NeedIssued, phase: stable, trust: "1", says: "the certificate is not valid for other-service.shop",
		},
		"a caBundle edited by hand is not adopted": {
			facts: Facts{Secret: secret.Secret, Registrations: []Registration{trusting(first, foreign)}},
			phase: retiring, trust: "1",
		},
		"it cannot be written: trust stays as it is": {
			facts: Facts{Secret: promoted.Secret, Registrations: []Registration{both}, Live: true, ReadOnly: true,
				Evidence: &Evidence{Leaf: promoted.assembled(second).leaf()}}, at: at,
			phase: promoting, trust: "2 1",
		},
	} {
		t.Run(name, c.check)
	}
}
