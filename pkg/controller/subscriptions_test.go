package controller

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// holding is a cache that holds some objects.
func holding[T drift.Object](t testing.TB, kind T, objects ...T) store[T] {
	t.Helper()
	s := newStore[T](nil, cache.NewSharedIndexInformer(&cache.ListWatch{}, kind, 0, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}))
	for _, o := range objects {
		if err := s.informers[0].GetStore().Add(o); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// subscribed is a namespace of so many operators, each in its second version, with a
// Subscription that has installed the first.
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
	c := &Controller{queue: newQueue(nil), caches: emptyCaches(t)}
	c.caches.csvs = holding(t, &operatorsv1alpha1.ClusterServiceVersion{}, csvs...)
	c.caches.subscriptions = holding(t, &operatorsv1alpha1.Subscription{}, subscriptions...)
	return c
}

// emptyCaches are filled with nothing.
func emptyCaches(t testing.TB) caches {
	return caches{
		csvs: holding(t, &operatorsv1alpha1.ClusterServiceVersion{}), groups: holding(t, &operatorsv1.OperatorGroup{}),
		rollouts: holding(t, &managerv1alpha1.WebhookRollout{}), subscriptions: holding(t, &operatorsv1alpha1.Subscription{}),
		namespaces: holding(t, &corev1.Namespace{}), accounts: holding(t, &corev1.ServiceAccount{}), pods: holding(t, &corev1.Pod{}),
		deployments: holding(t, &appsv1.Deployment{}), services: holding(t, &corev1.Service{}), slices: holding(t, &discoveryv1.EndpointSlice{}),
		secrets: holding(t, &corev1.Secret{}), crds: holding(t, &apiextensionsv1.CustomResourceDefinition{}),
		validating: holding(t, &admissionregistrationv1.ValidatingWebhookConfiguration{}), mutating: holding(t, &admissionregistrationv1.MutatingWebhookConfiguration{}),
		roles: holding(t, &rbacv1.Role{}), clusterRoles: holding(t, &rbacv1.ClusterRole{}),
		roleBindings: holding(t, &rbacv1.RoleBinding{}), clusterRoleBindings: holding(t, &rbacv1.ClusterRoleBinding{}),
		apiServices: holding(t, &apiregistrationv1.APIService{}), aggregation: &aggregation{},
	}
}

// However many Subscriptions and ClusterServiceVersions a namespace has, to find those that
// belong together is the same work.
func TestTheSubscriptionIsFoundWithoutLookingAtAll(t *testing.T) {
	work := func(operators int) float64 {
		c := subscribed(t, operators)
		csv := c.caches.csvs.get("shop", "operator-1.v2")
		if got := c.config(csv).Subscription; got != "operator-1" {
			t.Fatalf("the Subscription is %q", got)
		}
		return testing.AllocsPerRun(100, func() { c.config(csv) })
	}
	if few, many := work(3), work(1000); few != many {
		t.Errorf("%v allocations among 3 operators, %v among 1,000", few, many)
	}
}

// A Subscription concerns the versions of its operator, and nobody else.
func TestSubscriptionChanged(t *testing.T) {
	c := subscribed(t, 1000)
	was := c.caches.subscriptions.get("shop", "operator-1")
	is := was.DeepCopy()
	is.Status.InstalledCSV = "operator-1.v2"
	for name, test := range map[string]struct {
		before, after drift.Object
		want          []string
	}{
		"new":       {nil, was, []string{"operator-1.v1", "operator-1.v2"}},
		"gone":      {was, nil, []string{"operator-1.v1", "operator-1.v2"}},
		"the same":  {was, was.DeepCopy(), nil},
		"installed": {was, is, []string{"operator-1.v1", "operator-1.v2"}},
	} {
		t.Run(name, func(t *testing.T) {
			c.subscriptionChanged(test.before, test.after)
			var looked []string
			for c.queue.Len() > 0 {
				k, _ := c.queue.Get()
				c.queue.Done(k)
				looked = append(looked, k.name)
			}
			slices.Sort(looked)
			if diff := cmp.Diff(test.want, looked); diff != "" {
				t.Errorf("looked at (-want +got):\n%s", diff)
			}
		})
	}
}
