package certs

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// A certificate is said to be updated when pods are given it: not when it begins, nor when it
// was issued, nor when the rotation is over.
func TestUpdated(t *testing.T) {
	first, second := minted(t, 1, start.Add(-time.Hour)), minted(t, 2, after(due))
	given := holding(t, first)
	distributing := given.next(second, after(due)).trusted(after(due+time.Minute), trusting(second, first))
	promoting := distributing.promoted(after(due + time.Hour))
	stable := promoting.change(after(due+2*time.Hour), func(m *decider, s *corev1.Secret) { m.edit().forgetPrevious(s) })
	for name, test := range map[string]struct {
		holds built
		want  time.Time
	}{
		"the first":        {given, start},
		"the next waits":   {distributing, start},
		"pods are given":   {promoting, after(due + time.Hour)},
		"all of them have": {stable, after(due + time.Hour)},
		"nobody noted it":  {stable.with(func(s *corev1.Secret) { delete(s.Annotations, wellknown.AnnotationUpdatedAt) }), time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			d := Decide(Facts{Secret: test.holds.Secret, Names: names, Issuer: managerv1alpha1.ProviderManager}, DefaultPolicy(), after(due+3*time.Hour))
			if d.Serving == nil || !d.Serving.Updated.Equal(test.want) {
				t.Errorf("serving %+v, want it updated at %s", d.Serving, test.want)
			}
		})
	}
}
