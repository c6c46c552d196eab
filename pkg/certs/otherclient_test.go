package certs

import (
	"maps"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// A Secret of another client under the manager's name is replaced only if registrations exist and no owner claims it.
func TestSecretOfAnotherClient(t *testing.T) {
	first, third, otherClients := minted(t, 1, start), minted(t, 3, after(2*day)), minted(t, 9, after(2*day))
	one, at := trusting(first), after(2*day)
	const notModified = ", so it belongs to another client and is not modified; the serving certificate needs this name: delete the Secret or give it another name"
	replaced := secretWith(t, otherClients).with(func(s *corev1.Secret) { s.Labels, s.Annotations = nil, nil })
	factsWith := func(change func(*corev1.Secret)) Facts {
		return Facts{Secret: replaced.with(change).Secret, Registrations: []Registration{one}, Live: true, Issued: &third}
	}
	registeredFacts := factsWith(func(*corev1.Secret) {})
	fromCaches, notRegistered, otherProvider := registeredFacts, registeredFacts, registeredFacts
	fromCaches.Live, notRegistered.Registrations = false, nil
	otherProvider.Provider, otherProvider.Issued = "theirs", nil
	stripped := cached(secretWith(t, first).with(func(s *corev1.Secret) { s.Labels = nil }), one)
	opaque := func(s *corev1.Secret) { s.Type = corev1.SecretTypeOpaque }
	const wrongType = `Secret shop/manager-service-cert has type "Opaque" instead of "kubernetes.io/tls"`
	for name, c := range map[string]decision{
		"registrations exist":                                      {facts: registeredFacts, write: "next 3, previous 1", phase: distributing, trust: "3 1", message: "missing"},
		"registrations exist, from caches":                         {facts: fromCaches, need: NeedLive, phase: distributing, trust: "1", message: "does not trust it"},
		"registrations exist, and the other issuer has not issued": {facts: otherProvider, write: "previous 1", phase: distributing, trust: "1", message: "missing"},
		"no registration":                                          {facts: notRegistered, phase: bootstrap, message: "Secret shop/manager-service-cert lacks the label olm.managed=true" + notModified},
		"only its label is removed":                                {facts: stripped, write: "current 1", phase: stable, trust: "1"},
		"wrong type":                                               {facts: factsWith(opaque), phase: distributing, trust: "1", message: wrongType + "; a new certificate replaces it"},
		"wrong type, no registration":                              {facts: Facts{Secret: replaced.with(opaque).Secret}, phase: bootstrap, message: wrongType + notModified},
		"owned by another object": {
			facts: factsWith(func(s *corev1.Secret) {
				s.OwnerReferences = []metav1.OwnerReference{installtest.OwnerOf("Release", "web")}
			}),
			phase: bootstrap, trust: "1", message: "Secret shop/manager-service-cert is owned by Release web" + notModified,
		},
		"owned by a kind of another group": {
			facts: factsWith(func(s *corev1.Secret) {
				s.OwnerReferences = []metav1.OwnerReference{installtest.OwnerOf("ClusterServiceVersion.evil.example.com", "shop.v1")}
			}),
			phase: bootstrap, trust: "1", message: "is owned by ClusterServiceVersion.evil.example.com shop.v1" + notModified,
		},
		"owned by another object, wrong type": {
			facts: factsWith(func(s *corev1.Secret) {
				opaque(s)
				s.OwnerReferences = []metav1.OwnerReference{installtest.OwnerOf("Release", "web")}
			}),
			phase: bootstrap, trust: "1", message: "is owned by Release web",
		},
		"label of another tool": {
			facts: factsWith(func(s *corev1.Secret) { s.Labels = map[string]string{labelManagedBy: "Helm"} }),
			phase: bootstrap, trust: "1", message: "has the label app.kubernetes.io/managed-by=Helm" + notModified,
		},
		"label of another operator": {
			facts: factsWith(func(s *corev1.Secret) { s.Labels = map[string]string{wellknown.LabelOwner: "other.v1"} }),
			phase: bootstrap, trust: "1", message: "has the label olm.owner=other.v1" + notModified,
		},
		"owned by a ClusterServiceVersion": {
			facts: factsWith(func(s *corev1.Secret) {
				s.OwnerReferences = []metav1.OwnerReference{installtest.OwnerOf("ClusterServiceVersion", "shop.v1")}
			}),
			write: "next 3, previous 1", phase: distributing, trust: "3 1", message: "missing",
		},
	} {
		c.at = at
		t.Run(name, c.check)
	}
}

// A Secret that cannot be changed is deleted if live facts show it and the Secret is writable.
func TestUnchangeableSecretIsRemoved(t *testing.T) {
	first := minted(t, 1, start)
	replaced := secretWith(t, first).with(func(s *corev1.Secret) { s.Labels, s.Annotations = nil, nil })
	opaque := replaced.with(func(s *corev1.Secret) { s.Type = corev1.SecretTypeOpaque }).Secret
	immutable := replaced.with(func(s *corev1.Secret) { s.Immutable = new(true) }).Secret
	deleted := opaque.DeepCopy()
	deleted.DeletionTimestamp, deleted.Finalizers = &metav1.Time{Time: start}, []string{"example.com/keep"}
	for name, test := range map[string]struct {
		facts Facts
		want  *corev1.Secret
	}{
		"wrong type":                      {Facts{Secret: opaque, Live: true}, opaque},
		"immutable":                       {Facts{Secret: immutable, Live: true}, immutable},
		"from caches":                     {Facts{Secret: opaque}, nil},
		"read-only":                       {Facts{Secret: opaque, Live: true, ReadOnly: true}, nil},
		"recreated by another client":     {Facts{Secret: opaque, Live: true, Recreated: true}, nil},
		"a finalizer blocks the deletion": {Facts{Secret: deleted, Live: true}, nil},
	} {
		test.facts.Names, test.facts.Registrations = names, []Registration{trusting(first)}
		d := Decide(test.facts, DefaultPolicy(), start)
		if d.Remove != test.want || !d.PollAt.Equal(start.Add(otherClientInterval)) {
			t.Errorf("%s: it removes %v and polls at %s, want %v, after a pause", name, d.Remove, d.PollAt, test.want)
		}
		kept := strings.Contains(d.Problem, "finalizers keep it from being deleted: example.com/keep")
		installtest.Same(t, name+": it names finalizers", test.facts.Secret == deleted, kept)
	}
	changeable := Facts{Secret: replaced.Secret, Live: true, Names: names, Registrations: []Registration{trusting(first)}}
	installtest.Same(t, "what is deleted of a Secret that can be changed", nil, Decide(changeable, DefaultPolicy(), start).Remove)
}

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
				t.Fatalf("it needs %q, removes %v, writes %q, reports %q", d.Need, d.Remove, describe(d.Write), d.Message)
			}
			if d.Write == nil {
				return
			}
			if d.Write.ResourceVersion != "" || d.Write.UID != "" || d.Write.Immutable != nil || d.Remove.UID != "u" {
				t.Errorf("%+v replaces %+v", d.Write.ObjectMeta, d.Remove.ObjectMeta)
			}
			sameContent := maps.EqualFunc(d.Write.Data, f.Secret.Data, func(a, b []byte) bool { return string(a) == string(b) })
			installtest.Same(t, "the content is the same", test.sameContent, sameContent)
		})
	}
}
