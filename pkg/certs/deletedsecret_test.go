package certs

import (
	"testing"
	"time"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
)

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
