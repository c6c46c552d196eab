package certs

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

func TestOrderedDue(t *testing.T) {
	writes := func(manager, fields string) []metav1.ManagedFieldsEntry {
		return []metav1.ManagedFieldsEntry{{Manager: "kubectl"}, {Manager: manager, Subresource: "status", FieldsV1: metav1.NewFieldsV1(fields)}}
	}
	const rotateAt, phase = `{"f:status":{"f:certsRotateAt":{}}}`, `{"f:status":{"f:phase":{}}}`
	for name, test := range map[string]struct {
		at      time.Time
		writers []metav1.ManagedFieldsEntry
		want    string
	}{
		"somebody's, that is over":     {start, writes("e2e", rotateAt), "2026-03-01T12:00:00Z"},
		"somebody's, that is to come":  {after(day), writes("e2e", rotateAt), ""},
		"the manager's, that is over":  {start, writes(wellknown.FieldManager, rotateAt), ""},
		"somebody wrote another field": {start, writes("e2e", phase), ""},
		"nobody says who wrote it":     {start, nil, ""},
		"none":                         {time.Time{}, writes("e2e", rotateAt), ""},
	} {
		t.Run(name, func(t *testing.T) {
			var at *metav1.Time
			if !test.at.IsZero() {
				at = new(metav1.NewTime(test.at))
			}
			if got := RotateAtRequest(at, test.writers, start); got != test.want {
				t.Errorf("the order is %q, want %q", got, test.want)
			}
		})
	}
}

// An order in OLM's way is followed once, and restarts pods whatever they serve.
func TestDueOrders(t *testing.T) {
	first, second := minted(t, 1, start), minted(t, 2, after(day))
	secret := holding(t, first)
	one, both := trusting(first), trusting(second, first)
	at := after(day)
	noting := func(s *corev1.Secret) { s.Annotations[wellknown.AnnotationLastRotateAt] = "x" }
	stored := secret.next(second, at).with(noting)
	promoted := stored.promoted(at)
	none := &Evidence{Leaf: promoted.assembled(second).leaf()}
	theirs := Facts{Issuer: "cert-manager", Secret: secret.Secret, Registrations: []Registration{one}, RotateAt: "x"}
	for name, c := range map[string]decision{
		"it is given":                        {facts: Facts{Secret: secret.Secret, Registrations: []Registration{one}, RotateAt: "x", Issued: &second}, at: at, write: "current 1, next 2", phase: distributing, trust: "2 1"},
		"it was followed":                    {facts: Facts{Secret: secret.with(noting).Secret, Registrations: []Registration{one}, RotateAt: "x"}, at: at, phase: stable, trust: "1"},
		"beside one that was, by its name":   {facts: Facts{Secret: secret.with(noting).with(func(s *corev1.Secret) { s.Annotations[wellknown.AnnotationLastRotationRequest] = "compromised" }).Secret, Registrations: []Registration{one}, RotateAt: "y", RotationRequest: "compromised"}, at: at, need: NeedIssued, phase: stable, trust: "1"},
		"another issues":                     {facts: theirs, at: at, phase: stable, trust: "1"},
		"pods are restarted, whoever serves": {facts: Facts{Secret: promoted.Secret, Registrations: []Registration{both}, Live: true, Running: true, RestartedFor: "1", Evidence: none}, at: at, phase: promoting, trust: "2 1"},
		"once":                               {facts: Facts{Secret: promoted.Secret, Registrations: []Registration{both}, Live: true, Running: true, RestartedFor: "2", Evidence: none}, at: at, write: "current 2", phase: retiring, trust: "2"},
		"there are none":                     {facts: Facts{Secret: promoted.Secret, Registrations: []Registration{both}, Live: true, Evidence: none}, at: at, write: "current 2", phase: retiring, trust: "2"},
	} {
		t.Run(name, func(t *testing.T) {
			c.check(t)
			c.facts.Names = names
			if got, want := Decide(c.facts, DefaultPolicy(), at).Restart, name == "pods are restarted, whoever serves"; got != want {
				t.Errorf("pods are restarted: %t, want %t", got, want)
			}
		})
	}
	for name, test := range map[string]struct {
		facts Facts
		want  bool
	}{
		"in a rotation that began before": {Facts{Secret: secret.next(second, at).Secret, Registrations: []Registration{one}, Names: names, RotateAt: "x"}, true},
		"followed in this pass":           {Facts{Secret: secret.Secret, Registrations: []Registration{one}, Names: names, RotateAt: "x", Issued: &second}, false},
		"another issues":                  {theirs, false},
	} {
		if got := Decide(test.facts, DefaultPolicy(), at).RotateAtPending; got != test.want {
			t.Errorf("%s: the order is pending: %t, want %t", name, got, test.want)
		}
	}
}
