package certs

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// Updated is when pods were given the certificate.
func TestUpdated(t *testing.T) {
	one, two := minted(t, 1, start.Add(-time.Hour)), minted(t, 2, after(due))
	first := secretWith(t, one)
	distributing := first.next(two, after(due)).trusted(after(due+time.Minute), trusting(two, one))
	promoting := distributing.promoted(after(due + time.Hour))
	stable := promoting.change(after(due+2*time.Hour), func(m *decider, s *corev1.Secret) { m.edit().endRotation(s) })
	for name, test := range map[string]struct {
		holds storedSecret
		want  time.Time
	}{
		"first certificate": {first, start},
		"distributing":      {distributing, start},
		"promoting":         {promoting, after(due + time.Hour)},
		"stable":            {stable, after(due + time.Hour)},
		"not recorded":      {stable.with(func(s *corev1.Secret) { delete(s.Annotations, wellknown.AnnotationUpdatedAt) }), time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			d := Decide(Facts{Secret: test.holds.Secret, Names: names, Issuer: managerv1alpha1.ProviderManager}, DefaultPolicy(), after(due+3*time.Hour))
			if d.Serving == nil || !d.Serving.Updated.Equal(test.want) {
				t.Errorf("serving %+v, want it updated at %s", d.Serving, test.want)
			}
		})
	}
}
