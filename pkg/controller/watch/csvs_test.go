package watch

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func TestAffectsOthers(t *testing.T) {
	deleted := func(c *operatorsv1alpha1.ClusterServiceVersion) {
		c.DeletionTimestamp, c.Finalizers = new(metav1.Now()), []string{wellknown.FinalizerCSV, "example.com/kept"}
	}
	for name, test := range map[string]struct {
		before, change func(*operatorsv1alpha1.ClusterServiceVersion)
		want           bool
	}{
		"nothing":            {want: false},
		"an annotation":      {change: func(c *operatorsv1alpha1.ClusterServiceVersion) { c.Annotations = map[string]string{"a": "b"} }, want: false},
		"the phase":          {change: func(c *operatorsv1alpha1.ClusterServiceVersion) { c.Status.Phase = operatorsv1alpha1.CSVPhaseFailed }, want: true},
		"what it replaces":   {change: func(c *operatorsv1alpha1.ClusterServiceVersion) { c.Spec.Replaces = "shop.v0" }, want: true},
		"it is deleted":      {change: deleted, want: true},
		"its end is reached": {before: deleted, change: func(c *operatorsv1alpha1.ClusterServiceVersion) { c.Finalizers = c.Finalizers[1:] }, want: true},
		"a finalizer of another client is removed": {before: deleted, change: func(c *operatorsv1alpha1.ClusterServiceVersion) { c.Finalizers = c.Finalizers[:1] }, want: false},
	} {
		t.Run(name, func(t *testing.T) {
			was := installtest.Operator(nil)
			if test.before != nil {
				test.before(was)
			}
			is := was.DeepCopy()
			if test.change != nil {
				test.change(is)
			}
			installtest.Same(t, "it affects others", test.want, affectsOthers(was, is))
		})
	}
	installtest.Same(t, "a new version affects others", true, affectsOthers(nil, installtest.Operator(nil)))
	installtest.Same(t, "a deleted version affects others", true, affectsOthers(installtest.Operator(nil), nil))
}
