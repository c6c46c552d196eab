package certs

import (
	"testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

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
			if rotated != test.rotates || restarted != test.restarted {
				t.Errorf("it is rotated: %t, pods are restarted: %t, want %t, %t", rotated, restarted, test.rotates, test.restarted)
			}
			if d := Decide(f, DefaultPolicy(), at); d.Phase != stable || d.Write != nil || f.Secret.Annotations[wellknown.AnnotationUnusableCA] != "" {
				t.Errorf("in the end it is in %s and writes %q: %v", d.Phase, describe(d.Write), f.Secret.Annotations)
			}
		})
	}
}
