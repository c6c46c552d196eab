package controller

import (
	"fmt"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers/informerstest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/queue"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// subscribed returns a controller with a namespace with a number of operators in their second
// version. The Subscription of each has installed the first version.
func subscribed(t *testing.T, operators int) *Controller {
	t.Helper()
	var csvs []*operatorsv1alpha1.ClusterServiceVersion
	var subscriptions []*operatorsv1alpha1.Subscription
	for i := range operators {
		name := fmt.Sprintf("operator-%d", i)
		csv := &operatorsv1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name + ".v2"}}
		csv.Spec.Replaces = name + ".v1"
		subscription := &operatorsv1alpha1.Subscription{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
		subscription.Status.InstalledCSV = name + ".v1"
		csvs, subscriptions = append(csvs, csv), append(subscriptions, subscription)
	}
	c := controllerOf(t, csvs...)
	c.caches.Subscriptions = informerstest.Holding(t, &operatorsv1alpha1.Subscription{}, subscriptions...)
	return c
}

// Finding the Subscription of a version costs the same for any number of Subscriptions and ClusterServiceVersions.
func TestSubscriptionAmongMany(t *testing.T) {
	work := func(operators int) float64 {
		c := subscribed(t, operators)
		csv := c.caches.CSVs.Get("shop", "operator-1.v2")
		installtest.Same(t, "the Subscription", "operator-1", c.versions.ConfigOf(csv).Subscription)
		return testing.AllocsPerRun(100, func() { c.versions.ConfigOf(csv) })
	}
	installtest.Same(t, "allocations among 3 operators and among 1,000", work(3), work(1000))
}

// A changed Subscription enqueues only the versions of its operator.
func TestSubscriptionChanged(t *testing.T) {
	c := subscribed(t, 1000)
	was := c.caches.Subscriptions.Get("shop", "operator-1")
	is := was.DeepCopy()
	is.Status.InstalledCSV = "operator-1.v2"
	for name, test := range map[string]struct {
		before, after drift.Object
		want          []string
	}{
		"new":       {nil, was, []string{"operator-1.v1", "operator-1.v2"}},
		"deleted":   {was, nil, []string{"operator-1.v1", "operator-1.v2"}},
		"the same":  {was, was.DeepCopy(), nil},
		"installed": {was, is, []string{"operator-1.v1", "operator-1.v2"}},
	} {
		t.Run(name, func(t *testing.T) {
			c.handlers.SubscriptionChanged(test.before, test.after)
			looked := enqueued(c)
			installtest.Same(t, "looked at", test.want, looked)
		})
	}
}

// A changed issuer enqueues only the versions whose Subscription names it.
func TestIssuerChanged(t *testing.T) {
	c := subscribed(t, 1000)
	for operator, issuer := range map[string]string{"operator-1": "Issuer/shop", "operator-2": "ClusterIssuer/all"} {
		s := c.caches.Subscriptions.Get("shop", operator).DeepCopy()
		s.Spec = &operatorsv1alpha1.SubscriptionSpec{Config: &operatorsv1alpha1.SubscriptionConfig{Annotations: map[string]string{
			wellknown.AnnotationCertificateProvider: string(managerv1alpha1.ProviderCertManager), wellknown.AnnotationCertManagerIssuer: issuer,
		}}}
		installtest.Must(t, c.caches.Subscriptions.Informers[0].GetStore().Update(s))
	}
	for name, test := range map[string]struct {
		kind, namespace, name string
		want                  []string
	}{
		"named Issuer":        {"Issuer", "shop", "shop", []string{"operator-1.v1", "operator-1.v2"}},
		"named ClusterIssuer": {"ClusterIssuer", "", "all", []string{"operator-2.v1", "operator-2.v2"}},
		"other name":          {"Issuer", "shop", "other", nil},
		"other namespace":     {"Issuer", "other", "shop", nil},
		"other kind":          {"ClusterIssuer", "", "shop", nil},
	} {
		t.Run(name, func(t *testing.T) {
			issuer := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "cert-manager.io/v1", "kind": test.kind}}
			issuer.SetNamespace(test.namespace)
			issuer.SetName(test.name)
			c.handlers.OnDemandChanged(nil, issuer)
			installtest.Same(t, "enqueued", test.want, enqueued(c))
		})
	}
}

func enqueued(c *Controller) []string {
	names := lists.Map(c.drain(), func(k queue.Key) string { return k.Name })
	slices.Sort(names)
	return names
}
