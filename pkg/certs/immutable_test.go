package certs

import (
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// A Secret that a client made immutable is created again with the same content, at once, and only
// once for a certificate unless something has to be written.
func TestImmutableSecret(t *testing.T) {
	first, second := minted(t, 1, start), minted(t, 2, after(day))
	freeze := func(s *corev1.Secret) { s.Immutable, s.ResourceVersion, s.UID = new(true), "7", "u" }
	frozen := holding(t, first).with(freeze)
	again := frozen.with(func(s *corev1.Secret) {
		s.Annotations[wellknown.AnnotationRecreatedFor] = s.Annotations[wellknown.AnnotationFingerprint]
	})
	deleted := again.with(func(s *corev1.Secret) {
		s.DeletionTimestamp, s.Finalizers = &metav1.Time{Time: start}, []string{"example.com/keep"}
	})
	for name, test := range map[string]struct {
		facts Facts
		need  Need
		same  bool // the content is written again
		next  bool // the next certificate is stored
		says  string
	}{
		"it becomes so":                  {facts: Facts{Secret: frozen.Secret, Live: true}, same: true},
		"it becomes so, by caches":       {facts: Facts{Secret: frozen.Secret}, need: NeedLive},
		"it cannot be written":           {facts: Facts{Secret: frozen.Secret, Live: true, ReadOnly: true}},
		"it becomes so again":            {facts: Facts{Secret: again.Secret, Live: true}},
		"again, and another is due":      {facts: Facts{Secret: again.Secret, Live: true, RotationRequest: "a", Issued: &second}, next: true},
		"another is due, by caches":      {facts: Facts{Secret: again.Secret, RotationRequest: "a", Issued: &second}, need: NeedLive},
		"a finalizer keeps it":           {facts: Facts{Secret: deleted.Secret, Live: true, RotationRequest: "a", Issued: &second}, says: "finalizers keep it from being deleted: example.com/keep"},
		"a client without a claim on it": {facts: Facts{Secret: frozen.with(func(s *corev1.Secret) { s.Annotations = nil }).Secret, Live: true}, same: true},
	} {
		t.Run(name, func(t *testing.T) {
			f := test.facts
			f.Names, f.SecretMeta, f.Registrations = names, blank, []Registration{trusting(first)}
			d := Decide(f, DefaultPolicy(), after(day))
			if d.Need != test.need || (d.Write != nil) != (test.same || test.next) || (d.Remove != nil) != (d.Write != nil) || d.Message != "" != (test.says != "") {
				t.Fatalf("it needs %q, removes %v, writes %q, says %q", d.Need, d.Remove, describe(d.Write), d.Message)
			}
			if d.Write == nil {
				return
			}
			if d.Write.ResourceVersion != "" || d.Write.UID != "" || d.Write.Immutable != nil || d.Remove.UID != "u" {
				t.Errorf("%+v is created in the place of %+v", d.Write.ObjectMeta, d.Remove.ObjectMeta)
			}
			if same := maps.EqualFunc(d.Write.Data, f.Secret.Data, func(a, b []byte) bool { return string(a) == string(b) }); same != test.same {
				t.Errorf("the content is the same: %t; it holds %s", same, describe(d.Write))
			}
		})
	}
}
