package certs

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

func TestRotationRequests(t *testing.T) {
	first, second, third := minted(t, 1, start), minted(t, 2, after(day)), minted(t, 3, after(day))
	secret := secretWith(t, first)
	done := secret.with(func(s *corev1.Secret) { s.Annotations[wellknown.AnnotationLastRotationRequest] = "a" })
	distributed := secret.next(second, after(day))
	one := trusting(first)
	at := after(day)
	for name, c := range map[string]decision{
		"requested":                                 {facts: Facts{Secret: secret.Secret, Registrations: []Registration{one}, RotationRequest: "a", Issued: &second}, at: at, write: "current 1, next 2", phase: distributing, trust: "2 1"},
		"carried out":                               {facts: Facts{Secret: done.Secret, Registrations: []Registration{one}, RotationRequest: "a"}, at: at, phase: stable, trust: "1"},
		"a second request":                          {facts: Facts{Secret: done.Secret, Registrations: []Registration{one}, RotationRequest: "b"}, at: at, need: NeedIssued, phase: stable, trust: "1"},
		"during a rotation":                         {facts: Facts{Secret: distributed.Secret, Registrations: []Registration{one}, RotationRequest: "a"}, at: at, phase: distributing, trust: "2 1", message: "does not trust"},
		"compromised, from caches":                  {facts: Facts{Secret: secret.Secret, Registrations: []Registration{one}, RotationRequest: "compromised a"}, at: at, need: NeedLive, phase: stable, trust: "1"},
		"compromised":                               {facts: Facts{Secret: secret.Secret, Registrations: []Registration{one}, Live: true, RotationRequest: "compromised a", Issued: &second}, at: at, write: "current 2, promoted", phase: promoting, trust: "2"},
		"compromised during a rotation":             {facts: Facts{Secret: distributed.Secret, Registrations: []Registration{one}, Live: true, RotationRequest: "compromised a"}, at: at, need: NeedIssued, phase: distributing, trust: "2 1"},
		"compromised during a rotation, and minted": {facts: Facts{Secret: distributed.Secret, Registrations: []Registration{one}, Live: true, RotationRequest: "compromised a", Issued: &third}, at: at, write: "current 3, promoted", phase: promoting, trust: "3"},
		"compromised during the promotion":          {facts: Facts{Secret: distributed.promoted(at).Secret, Registrations: []Registration{one}, Live: true, RotationRequest: "compromised a", Issued: &third}, at: at, write: "current 3, promoted", phase: promoting, trust: "3"},
		"the first certificate":                     {facts: Facts{Live: true, RotationRequest: "a", Issued: &first}, at: at, write: "current 1", phase: stable, trust: "1"},
		"after the first certificate":               {facts: Facts{Secret: secretWith(t, first).Secret, Registrations: []Registration{one}}, at: at, phase: stable, trust: "1"},
	} {
		t.Run(name, c.check)
	}
	d := Decide(Facts{Live: true, RotationRequest: "a", Issued: &first, SecretMeta: blank, Names: names}, DefaultPolicy(), at)
	if again := Decide(Facts{Secret: d.Write, RotationRequest: "a", Names: names}, DefaultPolicy(), at); again.Need != NeedNothing {
		t.Errorf("the first certificate did not complete an earlier request")
	}
}
