// Package informerstest builds caches for tests.
package informerstest

import (
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/tools/cache"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// Holding returns a store that holds some objects of a kind.
func Holding[T drift.Object](t testing.TB, kind T, objects ...T) informers.Store[T] {
	t.Helper()
	s := informers.NewStore[T](nil, cache.NewSharedIndexInformer(&cache.ListWatch{}, kind, 0, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}))
	for _, o := range objects {
		if err := s.Informers[0].GetStore().Add(o); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// Empty returns caches without objects.
func Empty(t testing.TB) *informers.Caches {
	return &informers.Caches{
		CSVs: Holding(t, &operatorsv1alpha1.ClusterServiceVersion{}), Copies: Holding(t, &informers.Copy{}), Groups: Holding(t, &operatorsv1.OperatorGroup{}),
		Rollouts: Holding(t, &managerv1alpha1.WebhookRollout{}), Subscriptions: Holding(t, &operatorsv1alpha1.Subscription{}),
		Namespaces: Holding(t, &corev1.Namespace{}), Accounts: Holding(t, &corev1.ServiceAccount{}), Pods: Holding(t, &corev1.Pod{}),
		Deployments: Holding(t, &appsv1.Deployment{}), Services: Holding(t, &corev1.Service{}), Slices: Holding(t, &discoveryv1.EndpointSlice{}),
		Secrets: Holding(t, &corev1.Secret{}), Budgets: Holding(t, &policyv1.PodDisruptionBudget{}), CRDs: Holding(t, &apiextensionsv1.CustomResourceDefinition{}),
		Validating: Holding(t, &admissionregistrationv1.ValidatingWebhookConfiguration{}), Mutating: Holding(t, &admissionregistrationv1.MutatingWebhookConfiguration{}),
		Roles: Holding(t, &rbacv1.Role{}), ClusterRoles: Holding(t, &rbacv1.ClusterRole{}),
		RoleBindings: Holding(t, &rbacv1.RoleBinding{}), ClusterRoleBindings: Holding(t, &rbacv1.ClusterRoleBinding{}),
		APIServices: Holding(t, &apiregistrationv1.APIService{}), Aggregation: &informers.Aggregation{},
	}
}
