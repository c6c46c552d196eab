package certs

import (
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// A Secret that a client made immutable is recreated at once with the same content. This happens
// once for each certificate, unless something must be written.
func TestImmutableSecret(t *testing.T) {
	first, second := minted(t, 1, start), minted(t, 2, after(day))
	freeze := func(s *corev1.Secret) { s.Immutable, s.ResourceVersion, s.UID = new(true), "7", "u" }
	frozen := secretWith(t, first).with(freeze)
	recreated := frozen.with(func(s *corev1.Secret) {
		s.Annotations[wellknown.AnnotationRecreatedFor] = s.Annotations[wellknown.AnnotationFingerprint]
	})
	deleted := recreated.with(func(s *corev1.Secret) {
		s.DeletionTimestamp, s.Finalizers = &metav1.Time{Time: start}, []string{"example.com/keep"}
	})
	for name, test := range map[string]struct {
		facts       Facts
		need        Need
		sameContent bool // the content is written again
		next        bool // the next certificate is stored
		message     string
	}{
		"made immutable":                                      {facts: Facts{Secret: frozen.Secret, Live: true}, sameContent: true},
		"made immutable, from caches":                         {facts: Facts{Secret: frozen.Secret}, need: NeedLive},
		"read-only":                                           {facts: Facts{Secret: frozen.Secret, Live: true, ReadOnly: true}},
		"recreated by another client":                         {facts: Facts{Secret: frozen.Secret, Live: true, Recreated: true}},
		"made immutable a second time":                        {facts: Facts{Secret: recreated.Secret, Live: true}},
		"a second time, with a rotation request":              {facts: Facts{Secret: recreated.Secret, Live: true, RotationRequest: "a", Issued: &second}, next: true},
		"a second time, with a rotation request, from caches": {facts: Facts{Secret: recreated.Secret, RotationRequest: "a", Issued: &second}, need: NeedLive},
		"a finalizer blocks the deletion":                     {facts: Facts{Secret: deleted.Secret, Live: true, RotationRequest: "a", Issued: &second}, message: "finalizers keep it from being deleted: example.com/keep"},
		"the annotations are removed":                         {facts: Facts{Secret: frozen.with(func(s *corev1.Secret) { s.Annotations = nil }).Secret, Live: true}, sameContent: true},
	} {
		t.Run(name, func(t *testing.T) {
			f := test.facts
			f.Names, f.SecretMeta, f.Registrations = names, blank, []Registration{trusting(first)}
			d := Decide(f, DefaultPolicy(), after(day))
			if d.Need != test.need || (d.Write != nil) != (test.sameContent || test.next) || (d.Remove != nil) != (d.Write != nil) || d.Message != "" != (test.message != "") {
				t.Fatalf("it needs %q, removes %v, writes %q, says %q", d.Need, d.Remove, describe(d.Write), d.Message)
			}
			if d.Write == nil {
				return
			}
			if d.Write.ResourceVersion != "" || d.Write.UID != "" || d.Write.Immutable != nil || d.Remove.UID != "u" {
				t.Errorf("%+v replaces %+v", d.Write.ObjectMeta, d.Remove.ObjectMeta)
			}
			if sameContent := maps.EqualFunc(d.Write.Data, f.Secret.Data, func(a, b []byte) bool { return string(a) == string(b) }); sameContent != test.sameContent {
				t.Errorf("the content is the same: %t; it holds %s", sameContent, describe(d.Write))
			}
		})
	}
}
