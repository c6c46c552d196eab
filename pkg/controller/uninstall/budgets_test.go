package uninstall

import (
	"testing"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/clients"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/write"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// During an upgrade, a budget has two owners. It stays when one of them is uninstalled. It is deleted with the manager: no client
// judges it later.
func TestBudgetOfTwoVersions(t *testing.T) {
	version := func(name string) *operatorsv1alpha1.ClusterServiceVersion {
		return &operatorsv1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID("uid-of-" + name)}}
	}
	v1, v2 := version("shop.v1"), version("shop.v2")
	for name, test := range map[string]struct {
		owners []*operatorsv1alpha1.ClusterServiceVersion
		shared bool
		want   int
	}{
		"an uninstallation":                      {[]*operatorsv1alpha1.ClusterServiceVersion{v2}, false, 0},
		"an uninstallation during an upgrade":    {[]*operatorsv1alpha1.ClusterServiceVersion{v2, v1}, false, 1},
		"removal of the manager":                 {[]*operatorsv1alpha1.ClusterServiceVersion{v2}, true, 0},
		"removal of the manager in an upgrade":   {[]*operatorsv1alpha1.ClusterServiceVersion{v2, v1}, true, 0},
		"removal of the manager, another's owns": {[]*operatorsv1alpha1.ClusterServiceVersion{version("other")}, true, 1},
	} {
		budget := &policyv1.PodDisruptionBudget{ObjectMeta: csvspec.OwnedMeta(v2, "server-webhooks")}
		budget.Annotations, budget.OwnerReferences = map[string]string{wellknown.AnnotationBudgetFor: "server"}, nil
		for _, owner := range test.owners {
			budget.OwnerReferences = append(budget.OwnerReferences, csvspec.OwnedMeta(owner, "x").OwnerReferences...)
		}
		set := clients.Set{Kube: fake.NewClientset(budget)}
		u := &Uninstaller{Set: set, Writer: &write.Writer{Set: set, Now: time.Now}}
		for _, csv := range []*operatorsv1alpha1.ClusterServiceVersion{v1, v2} {
			installtest.Must(t, u.deleteBudgets(t.Context(), csv, test.shared))
		}
		left, err := set.Kube.PolicyV1().PodDisruptionBudgets("shop").List(t.Context(), metav1.ListOptions{})
		installtest.Must(t, err)
		installtest.Same(t, name+": budgets that stay", test.want, len(left.Items))
	}
}
