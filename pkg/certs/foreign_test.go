package certs

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// A Secret that somebody made under the name of the manager's is made the manager's again
// while webhooks are called, unless somebody lays claim to it; else it is left alone.
func TestForeignSecret(t *testing.T) {
	first, third, foreign := minted(t, 1, start), minted(t, 3, after(2*day)), minted(t, 9, after(2*day))
	one, at := trusting(first), after(2*day)
	const isLeft = ", so it belongs to another client and is not modified; the serving certificate needs this name: delete the Secret or give it another name"
	anew := holding(t, foreign).with(func(s *corev1.Secret) { s.Labels, s.Annotations = nil, nil })
	of := func(change func(*corev1.Secret)) Facts {
		return Facts{Secret: anew.with(change).Secret, Registrations: []Registration{one}, Live: true, Issued: &third}
	}
	called := of(func(*corev1.Secret) {})
	byCaches, notCalled, ofAnotherIssuer := called, called, called
	byCaches.Live, notCalled.Registrations = false, nil
	ofAnotherIssuer.Issuer, ofAnotherIssuer.Issued = "theirs", nil
	stripped := Facts{Secret: holding(t, first).with(func(s *corev1.Secret) { s.Labels = nil }).Secret, Registrations: []Registration{one}}
	opaque := func(s *corev1.Secret) { s.Type = corev1.SecretTypeOpaque }
	const wrongType = `Secret shop/manager-service-cert has type "Opaque" instead of "kubernetes.io/tls"`
	for name, c := range map[string]decision{
		"made anew":                             {facts: called, write: "next 3, previous 1", phase: distributing, trust: "3 1", says: "missing"},
		"made anew, by caches":                  {facts: byCaches, need: NeedLive, phase: distributing, trust: "1", says: "does not trust it"},
		"made anew, and another has not issued": {facts: ofAnotherIssuer, write: "previous 1", phase: distributing, trust: "1", says: "missing"},
		"nobody is called":                      {facts: notCalled, phase: bootstrap, says: "Secret shop/manager-service-cert lacks the label olm.managed=true" + isLeft},
		"its label alone is gone":               {facts: stripped, write: "current 1", phase: stable, trust: "1"},
		"of a type that cannot be changed":      {facts: of(opaque), phase: distributing, trust: "1", says: wrongType + "; a new certificate replaces it"},
		"of such a type, and nobody is called": {
			facts: Facts{Secret: anew.with(opaque).Secret}, phase: bootstrap, says: wrongType + isLeft,
		},
		"owned by somebody": {
			facts: of(func(s *corev1.Secret) { s.OwnerReferences = []metav1.OwnerReference{{Kind: "Release", Name: "web"}} }),
			phase: bootstrap, trust: "1", says: "Secret shop/manager-service-cert is owned by Release web" + isLeft,
		},
		"owned by somebody, and of another type": {
			facts: of(func(s *corev1.Secret) {
				opaque(s)
				s.OwnerReferences = []metav1.OwnerReference{{Kind: "Release", Name: "web"}}
			}),
			phase: bootstrap, trust: "1", says: "is owned by Release web",
		},
		"labelled as somebody's": {
			facts: of(func(s *corev1.Secret) { s.Labels = map[string]string{labelManagedBy: "Helm"} }),
			phase: bootstrap, trust: "1", says: "bears the label app.kubernetes.io/managed-by=Helm" + isLeft,
		},
		"labelled as another operator's": {
			facts: of(func(s *corev1.Secret) { s.Labels = map[string]string{wellknown.LabelOwner: "other.v1"} }),
			phase: bootstrap, trust: "1", says: "bears the label olm.owner=other.v1" + isLeft,
		},
		"owned by an operator, for others to judge": {
			facts: of(func(s *corev1.Secret) {
				s.OwnerReferences = []metav1.OwnerReference{{Kind: "ClusterServiceVersion", Name: "shop.v1"}}
			}),
			write: "next 3, previous 1", phase: distributing, trust: "3 1", says: "missing",
		},
	} {
		c.at = at
		t.Run(name, c.check)
	}
}

// What cannot be changed is deleted, as the API server has it now, and where it may be.
func TestForeignSecretIsRemoved(t *testing.T) {
	first := minted(t, 1, start)
	anew := holding(t, first).with(func(s *corev1.Secret) { s.Labels, s.Annotations = nil, nil })
	opaque := anew.with(func(s *corev1.Secret) { s.Type = corev1.SecretTypeOpaque }).Secret
	immutable := anew.with(func(s *corev1.Secret) { s.Immutable = new(true) }).Secret
	for name, test := range map[string]struct {
		facts Facts
		want  *corev1.Secret
	}{
		"of another type": {Facts{Secret: opaque, Live: true}, opaque},
		"immutable":       {Facts{Secret: immutable, Live: true}, immutable},
		"by caches":       {Facts{Secret: opaque}, nil},
		"read-only":       {Facts{Secret: opaque, Live: true, ReadOnly: true}, nil},
		"changeable":      {Facts{Secret: anew.Secret, Live: true}, nil},
	} {
		test.facts.Names, test.facts.Registrations = names, []Registration{trusting(first)}
		d := Decide(test.facts, DefaultPolicy(), start)
		if d.Remove != test.want || d.Remove != nil && !d.PollAt.Equal(start) {
			t.Errorf("%s: it removes %v and looks again at %s, want %v, at once", name, d.Remove, d.PollAt, test.want)
		}
	}
}
