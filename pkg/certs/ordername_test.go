package certs

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

func TestOrders(t *testing.T) {
	first, second, third := minted(t, 1, start), minted(t, 2, after(day)), minted(t, 3, after(day))
	secret := holding(t, first)
	done := secret.with(func(s *corev1.Secret) { s.Annotations[wellknown.AnnotationLastRotationRequest] = "a" })
	distributed := secret.next(second, after(day))
	one := trusting(first)
	at := after(day)
	for name, c := range map[string]decision{
		"an order":                         {facts: Facts{Secret: secret.Secret, Registrations: []Registration{one}, RotationRequest: "a", Issued: &second}, at: at, write: "current 1, next 2", phase: distributing, trust: "2 1"},
		"one that was followed":            {facts: Facts{Secret: done.Secret, Registrations: []Registration{one}, RotationRequest: "a"}, at: at, phase: stable, trust: "1"},
		"the one after it":                 {facts: Facts{Secret: done.Secret, Registrations: []Registration{one}, RotationRequest: "b"}, at: at, need: NeedIssued, phase: stable, trust: "1"},
		"while the last is under way":      {facts: Facts{Secret: distributed.Secret, Registrations: []Registration{one}, RotationRequest: "a"}, at: at, phase: distributing, trust: "2 1", says: "does not trust"},
		"compromised: caches do not do":    {facts: Facts{Secret: secret.Secret, Registrations: []Registration{one}, RotationRequest: "compromised a"}, at: at, need: NeedLive, phase: stable, trust: "1"},
		"compromised":                      {facts: Facts{Secret: secret.Secret, Registrations: []Registration{one}, Live: true, RotationRequest: "compromised a", Issued: &second}, at: at, write: "current 2, promoted", phase: promoting, trust: "2"},
		"compromised in a rotation":        {facts: Facts{Secret: distributed.Secret, Registrations: []Registration{one}, Live: true, RotationRequest: "compromised a"}, at: at, need: NeedIssued, phase: distributing, trust: "2 1"},
		"compromised there, and minted":    {facts: Facts{Secret: distributed.Secret, Registrations: []Registration{one}, Live: true, RotationRequest: "compromised a", Issued: &third}, at: at, write: "current 3, promoted", phase: promoting, trust: "3"},
		"compromised while pods follow":    {facts: Facts{Secret: distributed.promoted(at).Secret, Registrations: []Registration{one}, Live: true, RotationRequest: "compromised a", Issued: &third}, at: at, write: "current 3, promoted", phase: promoting, trust: "3"},
		"the first certificate ends none":  {facts: Facts{Live: true, RotationRequest: "a", Issued: &first}, at: at, write: "current 1", phase: stable, trust: "1"},
		"by the first certificate, before": {facts: Facts{Secret: holding(t, first).Secret, Registrations: []Registration{one}}, at: at, phase: stable, trust: "1"},
	} {
		t.Run(name, c.check)
	}
	d := Decide(Facts{Live: true, RotationRequest: "a", Issued: &first, SecretMeta: blank, Names: names}, DefaultPolicy(), at)
	if again := Decide(Facts{Secret: d.Write, RotationRequest: "a", Names: names}, DefaultPolicy(), at); again.Need != NeedNothing {
		t.Errorf("an order of before the first certificate is followed after it")
	}
}
