package gather

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers/informerstest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// The first status is that of the version, also if it has none.
func TestRecorded(t *testing.T) {
	version := func(name string) *operatorsv1alpha1.ClusterServiceVersion {
		return &operatorsv1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
	}
	caches := informerstest.Empty(t)
	var all []*managerv1alpha1.WebhookRollout
	for generation, name := range []string{"", "shop.v1", "shop.v2"} {
		r := &managerv1alpha1.WebhookRollout{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
		r.Status.ObservedGeneration = int64(generation)
		all = append(all, r)
	}
	caches.Rollouts = informerstest.Holding(t, &managerv1alpha1.WebhookRollout{}, all[1:]...)
	for name, want := range map[string][]int64{"shop.v2": {2, 1}, "shop.v3": {0, 1}} {
		got := recorded(caches, version(name), []*operatorsv1alpha1.ClusterServiceVersion{version("shop.v1"), version("shop.v0")})
		installtest.Same(t, name, want, lists.Map(got, func(s managerv1alpha1.WebhookRolloutStatus) int64 { return s.ObservedGeneration }))
	}
}
