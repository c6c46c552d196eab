package rollout

import (
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// Lifted objects are kept as desired. A version does not change those of the previous one before its upgrade begins.
func TestLift(t *testing.T) {
	v1 := &operatorsv1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "shop.v1"}}
	v2 := &operatorsv1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "shop.v2"}}
	reader := func(csv *operatorsv1alpha1.ClusterServiceVersion, verbs ...string) drift.Object {
		return &rbacv1.ClusterRole{
			TypeMeta:   metav1.TypeMeta{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole"},
			ObjectMeta: metav1.ObjectMeta{Name: "reader", Labels: csvspec.OwnerLabels(csv)},
			Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: verbs}},
		}
	}
	all := func(objects ...drift.Object) []drift.Object { return objects }
	for name, test := range map[string]struct {
		desired, live []drift.Object
		began         bool
		refused       string
		want          []string
	}{
		"missing":                         {desired: all(reader(v2, "get")), want: []string{"create ClusterRole reader"}},
		"unchanged":                       {desired: all(reader(v2, "get")), live: all(reader(v2, "get"))},
		"edited":                          {desired: all(reader(v2, "get")), live: all(reader(v2, "get", "delete")), want: []string{"apply ClusterRole reader: rules"}},
		"not desired any more":            {live: all(reader(v2, "get")), want: []string{"delete ClusterRole reader"}},
		"refused":                         {desired: all(reader(v2, "get")), refused: "ClusterRole reader"},
		"of the previous version":         {desired: all(reader(v2, "get")), live: all(reader(v1, "get"))},
		"adopted":                         {desired: all(reader(v2, "get")), live: all(reader(v1, "get")), began: true, want: []string{"apply ClusterRole reader: metadata.labels.olm.owner"}},
		"desired by the previous version": {live: all(reader(v1, "get")), began: true},
	} {
		t.Run(name, func(t *testing.T) {
			o := Observed{Refused: map[string]string{test.refused: "no"}}
			u := Upgrade{From: []*operatorsv1alpha1.ClusterServiceVersion{v1}, Started: test.began}
			installtest.Same(t, "steps", test.want, stepsOf(Plan{Steps: Lift(v2, test.desired, test.live, o, u, noon)}))
		})
	}
}
