package certs

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
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
	} {
		t.Run(name, c.check)
	}
	d := Decide(Facts{Live: true, RotationRequest: "a", Issued: &first, SecretMeta: blank, Names: names}, DefaultPolicy(), at)
	installtest.Same(t, "what the next decision needs", NeedNothing, Decide(Facts{Secret: d.Write, RotationRequest: "a", Names: names}, DefaultPolicy(), at).Need)
}

func TestRotateAtRequest(t *testing.T) {
	writes := func(manager, fields string) []metav1.ManagedFieldsEntry {
		return []metav1.ManagedFieldsEntry{{Manager: "kubectl"}, {Manager: manager, Subresource: "status", FieldsV1: metav1.NewFieldsV1(fields)}}
	}
	const rotateAt, phase = `{"f:status":{"f:certsRotateAt":{}}}`, `{"f:status":{"f:phase":{}}}`
	for name, test := range map[string]struct {
		at      time.Time
		writers []metav1.ManagedFieldsEntry
		want    string
	}{
		"another client's, in the past":      {start, writes("e2e", rotateAt), "2026-03-01T12:00:00Z"},
		"another client's, in the future":    {after(day), writes("e2e", rotateAt), ""},
		"the manager's, in the past":         {start, writes(wellknown.FieldManager, rotateAt), ""},
		"another client wrote another field": {start, writes("e2e", phase), ""},
		"no managed fields":                  {start, nil, ""},
		"none":                               {time.Time{}, writes("e2e", rotateAt), ""},
	} {
		t.Run(name, func(t *testing.T) {
			var at *metav1.Time
			if !test.at.IsZero() {
				at = new(metav1.NewTime(test.at))
			}
			installtest.Same(t, "the request", test.want, RotateAtRequest(at, test.writers, start))
		})
	}
}

// A certsRotateAt request is carried out once. It restarts pods even if they serve the current certificate.
func TestRotateAt(t *testing.T) {
	first, second := minted(t, 1, start), minted(t, 2, after(day))
	secret := secretWith(t, first)
	one, both := trusting(first), trusting(second, first)
	at := after(day)
	recordRotateAt := func(s *corev1.Secret) { s.Annotations[wellknown.AnnotationLastRotateAt] = "x" }
	stored := secret.next(second, at).with(recordRotateAt)
	promoted := stored.promoted(at)
	none := &Evidence{Leaf: promoted.assembled(second).leaf()}
	otherProvider := Facts{Provider: "cert-manager", Secret: secret.Secret, Registrations: []Registration{one}, RotateAt: "x"}
	for name, c := range map[string]decision{
		"requested":   {facts: Facts{Secret: secret.Secret, Registrations: []Registration{one}, RotateAt: "x", Issued: &second}, at: at, write: "current 1, next 2", phase: distributing, trust: "2 1"},
		"carried out": {facts: Facts{Secret: secret.with(recordRotateAt).Secret, Registrations: []Registration{one}, RotateAt: "x"}, at: at, phase: stable, trust: "1"},
		"a rotation request was carried out before": {facts: Facts{Secret: secret.with(recordRotateAt).with(func(s *corev1.Secret) { s.Annotations[wellknown.AnnotationLastRotationRequest] = "compromised" }).Secret, Registrations: []Registration{one}, RotateAt: "y", RotationRequest: "compromised"}, at: at, need: NeedIssued, phase: stable, trust: "1"},
		"another issuer":      {facts: otherProvider, at: at, phase: stable, trust: "1"},
		"pods are restarted":  {facts: Facts{Secret: promoted.Secret, Registrations: []Registration{both}, Live: true, Running: true, RestartedFor: "1", Evidence: none}, at: at, phase: promoting, trust: "2 1", restarts: true},
		"pods were restarted": {facts: Facts{Secret: promoted.Secret, Registrations: []Registration{both}, Live: true, Running: true, RestartedFor: "2", Evidence: none}, at: at, write: "current 2", phase: retiring, trust: "2"},
		"no pods":             {facts: Facts{Secret: promoted.Secret, Registrations: []Registration{both}, Live: true, Evidence: none}, at: at, write: "current 2", phase: retiring, trust: "2"},
	} {
		t.Run(name, c.check)
	}
	for name, test := range map[string]struct {
		facts Facts
		want  bool
	}{
		"during an earlier rotation":   {Facts{Secret: secret.next(second, at).Secret, Registrations: []Registration{one}, Names: names, RotateAt: "x"}, true},
		"carried out by this decision": {Facts{Secret: secret.Secret, Registrations: []Registration{one}, Names: names, RotateAt: "x", Issued: &second}, false},
		"another issuer":               {otherProvider, false},
	} {
		installtest.Same(t, name+": the request is pending", test.want, Decide(test.facts, DefaultPolicy(), at).RotateAtPending)
	}
}
