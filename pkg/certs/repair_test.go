package certs

import (
	"maps"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// If a Secret is lost, damaged or replaced while registrations exist, the repair is a rotation.
// Pods are not given the certificate of another client.
func TestRepair(t *testing.T) {
	first, second, third, otherClients := minted(t, 1, start), minted(t, 2, after(day)), minted(t, 3, after(2*day)), minted(t, 9, after(2*day))
	otherClients.Number = 0
	late := minted(t, 4, after(91*day))
	secret := secretWith(t, first)
	distributed := secret.next(second, after(day))
	promoted := distributed.promoted(after(day))
	overwrite := func(b storedSecret) *corev1.Secret {
		return b.edited(corev1.TLSCertKey, otherClients.Certificate).edited(corev1.TLSPrivateKeyKey, otherClients.Key).edited(wellknown.KeyCA, otherClients.CA).Secret
	}
	withoutAnnotations := func(b storedSecret) *corev1.Secret {
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
		"lost, from caches": {
			facts: Facts{Registrations: []Registration{one}}, at: at,
			need: NeedLive, phase: distributing, trust: "1", message: "the Secret with the serving certificate does not exist; a new certificate replaces it",
		},
		"lost": {
			facts: Facts{Registrations: []Registration{both}, Live: true, Issued: &third}, at: at,
			write: "next 3, previous 2 1", phase: distributing, trust: "3 2 1", message: "the certificate is missing",
		},
		"lost, and the caBundle emptied": {
			facts: Facts{Registrations: []Registration{{Name: "v"}}, Live: true, Issued: &third}, at: at,
			write: "next 3", phase: distributing, trust: "3", message: "missing",
		},
		"lost, without registrations, while pods run": {
			facts: Facts{Live: true, Running: true, Issued: &third}, at: at,
			write: "current 3, promoted", phase: promoting, trust: "3",
		},
		"no key": {
			facts: Facts{Secret: secret.edited(corev1.TLSPrivateKeyKey, nil).Secret, Registrations: []Registration{one}, Live: true, Issued: &third}, at: at,
			write: "next 3, previous 1", phase: distributing, trust: "3 1", message: "missing",
		},
		"key of another certificate, from caches": {
			facts: cached(secret.edited(corev1.TLSPrivateKeyKey, second.Key), one), at: at,
			need: NeedLive, phase: distributing, trust: "1", message: "no pair",
		},
		"replaced by another Secret": {
			facts: Facts{Secret: secretWith(t, otherClients).with(func(s *corev1.Secret) { s.Annotations = nil }).Secret, Registrations: []Registration{one}, Live: true, Issued: &third}, at: at,
			write: "next 3, previous 1", phase: distributing, trust: "3 1", message: "missing",
		},
		"valid pair of another client": {
			facts: Facts{Secret: overwrite(secret), Registrations: []Registration{one}, Live: true, Issued: &third}, at: at,
			write: "next 3, previous 1", phase: distributing, trust: "3 1", message: "missing",
		},
		"pair of another client during the distribution": {
			facts: Facts{Secret: overwrite(distributed), Registrations: []Registration{both}, Live: true}, at: at,
			write: "next 2, previous 2 1", phase: distributing, trust: "2 1", message: "missing",
		},
		"pair of another client during the distribution, from caches": {
			facts: Facts{Secret: overwrite(distributed), Registrations: []Registration{one}}, at: at,
			need: NeedLive, phase: distributing, trust: "2 1", message: "is not the one that the manager put there",
		},
		"pair of another client during the promotion": {
			facts: Facts{Secret: overwrite(promoted), Registrations: []Registration{both}, Live: true, Issued: &third}, at: at,
			write: "next 3, previous 2 1, promoted", phase: distributing, trust: "3 2 1", message: "missing",
		},
		"no annotations: an earlier request is not carried out again": {
			facts: Facts{Secret: secret.with(func(s *corev1.Secret) { s.Annotations = nil }).Secret, Registrations: []Registration{one}, Live: true, RotationRequest: "compromised a"}, at: at,
			write: "current 1", phase: stable, trust: "1",
		},
		"no annotations while pods run: it is not known which certificate they serve": {
			facts: Facts{Secret: secret.with(func(s *corev1.Secret) { s.Annotations = nil }).Secret, Registrations: []Registration{one}, Running: true, Live: true}, at: at,
			write: "current 1, promoted", phase: promoting, trust: "1",
		},
		"no annotations, from caches": {
			facts: Facts{Secret: withoutAnnotations(promoted), Registrations: []Registration{both}, Running: true}, at: at,
			need: NeedLive, phase: stable, trust: "2 1",
		},
		"no annotations during the promotion": {
			facts: Facts{Secret: withoutAnnotations(promoted), Registrations: []Registration{both}, Running: true, Live: true}, at: at,
			write: "current 2, previous 1, promoted", phase: promoting, trust: "2 1",
		},
		"no annotations during the distribution": {
			facts: Facts{Secret: withoutAnnotations(distributed), Registrations: []Registration{both}, Live: true}, at: at,
			write: "current 1, previous 2, promoted", phase: promoting, trust: "2 1",
		},
		"no annotations, read-only": {
			facts: Facts{Secret: withoutAnnotations(promoted), Registrations: []Registration{both}, Live: true, ReadOnly: true}, at: at,
			phase: stable, trust: "2 1",
		},
		"no fingerprint": {
			facts: Facts{Secret: promoted.with(func(s *corev1.Secret) {
				delete(s.Annotations, wellknown.AnnotationFingerprint)
				delete(s.Data, wellknown.KeyPreviousCAs)
			}).Secret, Registrations: []Registration{both}, Live: true}, at: at,
			write: "current 2, previous 1, promoted", phase: promoting, trust: "2 1",
		},
		"no previous CAs": {
			facts: cached(promoted.edited(wellknown.KeyPreviousCAs, nil), both), at: at,
			need: NeedEvidence, phase: promoting, trust: "2 1",
		},
		"invalid next generation": {facts: cached(distributed.edited(wellknown.KeyNextKey, []byte("what")), one), at: at, phase: stable, trust: "1"},
		"expired while no manager was running": {
			facts: Facts{Secret: secret.Secret, Registrations: []Registration{one}, Issued: &late}, at: after(91 * day),
			write: "current 1, next 4", phase: distributing, trust: "4", message: "the certificate expired at 2026-05-30T12:00:00Z; a new certificate replaces it",
		},
		"expired: no settle time": {
			facts: live(secret.next(late, after(91*day)), trusting(late)), at: after(91 * day),
			write: "current 4, promoted", phase: promoting, trust: "4",
		},
		"not valid yet": {
			facts: cached(secret, one), at: after(-day),
			need: NeedIssued, phase: stable, trust: "1", message: "is valid only from 2026-03-01T11:55:00Z, which is yet to come: compare the clocks of the nodes",
		},
		"names of another Service": {
			facts: Facts{Secret: secret.Secret, Registrations: []Registration{one}, Names: DNSNames("other-service", "shop")},
			need:  NeedIssued, phase: stable, trust: "1", message: "the certificate is not valid for other-service.shop",
		},
		"edited caBundle": {facts: cached(secret, trusting(first, otherClients)), phase: retiring, trust: "1"},
		"read-only: the trust is not changed": {
			facts: Facts{Secret: promoted.Secret, Registrations: []Registration{both}, Live: true, ReadOnly: true,
				Evidence: &Evidence{Leaf: promoted.assembled(second).leaf()}}, at: at,
			phase: promoting, trust: "2 1",
		},
	} {
		t.Run(name, c.check)
	}
}

// An expired CA that a client wrote to the Secret begins a rotation that restarts pods, as in OLM
// v0. Other damage does not restart pods that reload.
func TestUnusableCA(t *testing.T) {
	first, expired, valid := minted(t, 1, start), minted(t, 7, after(-200*day)), minted(t, 8, start)
	secret := secretWith(t, first)
	for name, test := range map[string]struct {
		secret    storedSecret
		rotates   bool
		restarted bool
	}{
		"not damaged":                {secret: secret},
		"expired, under OLM's key":   {secret: secret.edited(wellknown.KeyOLMCA, expired.CA), rotates: true, restarted: true},
		"no PEM, under OLM's key":    {secret: secret.edited(wellknown.KeyOLMCA, []byte("none")), rotates: true, restarted: true},
		"expired, and mounted":       {secret: secret.edited(wellknown.KeyCA, expired.CA), rotates: true, restarted: true},
		"none under OLM's key":       {secret: secret.edited(wellknown.KeyOLMCA, nil)},
		"another under OLM's key":    {secret: secret.edited(wellknown.KeyOLMCA, valid.CA)},
		"another, and mounted":       {secret: secret.edited(wellknown.KeyCA, valid.CA), rotates: true},
		"invalid pair":               {secret: secret.edited("tls.crt", []byte("spoiled")), rotates: true},
		"a pair of another client's": {secret: secret.edited("tls.crt", valid.Certificate).edited("tls.key", valid.Key), rotates: true},
	} {
		t.Run(name, func(t *testing.T) {
			f := Facts{Secret: test.secret.Secret, Registrations: []Registration{trusting(first)}, Names: names, SecretMeta: blank, Running: true, Live: true}
			f = unproved(f)
			rotated, restarted := false, false
			at := after(day)
			for range 12 {
				d := answered(t, &f, DefaultPolicy(), at, func(d Decision) {
					if d.Need != NeedEvidence {
						t.Fatalf("it needs %q", d.Need)
					}
					f.Evidence = &Evidence{Leaf: d.Serving.Leaf, Backends: []Backend{{Pod: "a"}}}
				})
				if d.Restart {
					restarted, f.RestartedFor = true, "2"
				}
				rotated = rotated || d.Phase == promoting
				if d.Write != nil {
					f.Secret, f.Evidence, f.Issued = d.Write, nil, nil
				}
				f.Registrations = []Registration{{Name: "webhook v", CABundle: d.Trust, Generation: d.Generation}}
				at = at.Add(DefaultPolicy().Settle)
			}
			installtest.Same(t, "it is rotated", test.rotates, rotated)
			installtest.Same(t, "pods are restarted", test.restarted, restarted)
			if d := Decide(f, DefaultPolicy(), at); d.Phase != stable || d.Write != nil || f.Secret.Annotations[wellknown.AnnotationUnusableCA] != "" {
				t.Errorf("in the end it is in %s and writes %q: %v", d.Phase, describe(d.Write), f.Secret.Annotations)
			}
		})
	}
}

// The deletion of the Secret starts a rotation. Each row is one reconciliation: the write of the
// Secret, and the trust that the registrations get in the same plan.
func TestDeletedSecret(t *testing.T) {
	f := Facts{SecretMeta: blank, Names: names, Running: true, Registrations: []Registration{trusting(minted(t, 1, start))}}
	deletedAt := after(day)
	for _, step := range []struct {
		name         string
		after        time.Duration // since the deletion
		serves       Observation   // of the one pod
		write, trust string
		phase        managerv1alpha1.CertificatePhase
	}{
		{"the new pair is stored, and not mounted", 0, ServesOther, "next 2, previous 1", "2 1", distributing},
		{"the registrations trust it", time.Second, ServesOther, "next 2, previous 1, trusted", "2 1", distributing},
		{"API servers may not have observed that yet", 5 * time.Second, ServesOther, "", "2 1", distributing},
		{"the pod is given the new pair", 6 * time.Second, ServesOther, "current 2, previous 1, promoted", "2 1", promoting},
		{"the pod serves the lost pair", 7 * time.Second, ServesOther, "", "2 1", promoting},
		{"the pod serves the new pair", 8 * time.Second, ServesCurrent, "current 2", "2", retiring},
		{"the registrations trust only the new CA", 9 * time.Second, ServesCurrent, "", "2", stable},
	} {
		f.Live, f.Evidence, f.Issued = false, nil, nil
		d := answered(t, &f, DefaultPolicy(), deletedAt.Add(step.after), func(d Decision) {
			f.Live = true
			if d.Need == NeedEvidence {
				f.Evidence = &Evidence{Leaf: d.Serving.Leaf, Backends: []Backend{{Pod: "a", Serves: step.serves}}}
			}
		})
		if write, trust := describe(d.Write), numbersOf(parse(d.Trust)); write != step.write || trust != step.trust || d.Phase != step.phase {
			t.Errorf("%s: the Secret gets %q, the trust is %q, the phase %s; want %q, %q, %s", step.name, write, trust, d.Phase, step.write, step.trust, step.phase)
		}
		if d.Write != nil {
			f.Secret = d.Write
		}
		f.Registrations = []Registration{{Name: "webhook v", CABundle: d.Trust, Generation: d.Generation}}
	}
}

func TestInspectNothing(t *testing.T) {
	if Inspect(nil) != nil || Inspect(&corev1.Secret{}) != nil {
		t.Error("there is a certificate in a Secret without one")
	}
}
