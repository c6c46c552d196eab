package versions

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers/informerstest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/lineage"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
)

// Other operators with the same Deployment and API are contenders and neighbours. Other versions of the
// operator are neither, and a deleted operator is no neighbour.
func TestOtherOperators(t *testing.T) {
	named := func(name string) *operatorsv1alpha1.ClusterServiceVersion {
		csv := installtest.Operator(installtest.Deployments(installtest.DeploymentOf("manager")))
		csv.Name = name
		csv.Spec.CustomResourceDefinitions.Owned = []operatorsv1alpha1.CRDDescription{{Name: "things.example.com", Version: "v1", Kind: "Thing"}}
		return csv
	}
	csv, older, newer, other, deleted := named("a.v2"), named("a.v1"), named("a.v3"), named("b.v1"), named("c.v1")
	deleted.DeletionTimestamp = new(metav1.Now())
	index := &Index{Caches: informerstest.Empty(t)}
	index.Caches.CSVs = informerstest.Holding(t, &operatorsv1alpha1.ClusterServiceVersion{}, csv, older, newer, other, deleted)
	relatives := lineage.Lineage{Older: []*operatorsv1alpha1.ClusterServiceVersion{older}, Newer: []*operatorsv1alpha1.ClusterServiceVersion{newer}}

	contenders := lists.Map(index.Contenders(csv, relatives), (*operatorsv1alpha1.ClusterServiceVersion).GetName)
	neighbours := lists.Map(index.Neighbours(csv, relatives), func(c scope.Claimant) string { return c.CSV.Name })
	slices.Sort(contenders)
	installtest.Same(t, "contenders", []string{"b.v1", "c.v1"}, contenders)
	installtest.Same(t, "neighbours", []string{"b.v1"}, neighbours)
}

// A manager that is limited to namespaces manages nothing in another.
func TestManagerOfAnotherNamespace(t *testing.T) {
	index := &Index{Caches: informerstest.Empty(t), Namespaces: []string{"mall"}}
	index.Caches.Rollouts = informerstest.Holding(t, &managerv1alpha1.WebhookRollout{}, &managerv1alpha1.WebhookRollout{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "shop.v1"}})
	installtest.None(t, "WebhookRollouts", index.ManagedRollouts())
	installtest.Same(t, "managed", false, index.Manages(installtest.Operator(nil)))
}
