package operators

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmoperator/operators/component"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// byComponent is an index of objects by the Operators of which they are components.
const byComponent = "component"

// kind is a kind of components, and its cache.
type kind struct {
	schema.GroupVersionKind
	resource   string
	informers  []cache.SharedIndexInformer
	conditions func(drift.Object) []operatorsv1.Condition // nil: references have none
}

// The resources whose components are found otherwise than by their owner.
const (
	subscriptions   = "subscriptions"
	installPlans    = "installplans"
	serviceVersions = "clusterserviceversions"
	definitions     = "customresourcedefinitions"
)

type kinds []kind

// of returns the kind of a resource, which must be known.
func (k kinds) of(resource string) kind {
	return lists.First(k, func(k kind) bool { return k.resource == resource })
}

// kindsOf returns the kinds that OLM v0 refers to.
func kindsOf(shared *informers.Caches, own *ownCaches) kinds {
	return kinds{
		{appsv1.SchemeGroupVersion.WithKind("Deployment"), "deployments", shared.Deployments.Informers, conditions(func(o *appsv1.Deployment) any { return o.Status.Conditions })},
		{corev1.SchemeGroupVersion.WithKind("Service"), "services", shared.Services.Informers, conditions(func(o *corev1.Service) any { return o.Status.Conditions })},
		{corev1.SchemeGroupVersion.WithKind("Namespace"), "namespaces", shared.Namespaces.Informers, conditions(func(o *corev1.Namespace) any { return o.Status.Conditions })},
		{apiregistrationv1.SchemeGroupVersion.WithKind("APIService"), "apiservices", shared.APIServices.Informers, conditions(func(o *apiregistrationv1.APIService) any { return o.Status.Conditions })},
		{apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"), definitions, shared.CRDs.Informers, conditions(func(o *apiextensionsv1.CustomResourceDefinition) any { return o.Status.Conditions })},
		{operatorsv1alpha1.SchemeGroupVersion.WithKind(operatorsv1alpha1.SubscriptionKind), subscriptions, own.subscriptions.Informers, conditions(func(o *operatorsv1alpha1.Subscription) any { return o.Status.Conditions })},
		{operatorsv1alpha1.SchemeGroupVersion.WithKind(operatorsv1alpha1.InstallPlanKind), installPlans, shared.Plans.Informers, conditions(func(o *operatorsv1alpha1.InstallPlan) any { return o.Status.Conditions })},
		{operatorsv1alpha1.SchemeGroupVersion.WithKind(operatorsv1alpha1.ClusterServiceVersionKind), serviceVersions, shared.CSVs.Informers, phase},
		{operatorsv2.GroupVersion.WithKind("OperatorCondition"), "operatorconditions", own.conditions.Informers, conditions(conditionsOf)},
		{corev1.SchemeGroupVersion.WithKind("Secret"), "secrets", shared.Secrets.Informers, nil},
		{corev1.SchemeGroupVersion.WithKind("ConfigMap"), "configmaps", own.configMaps.Informers, nil},
		{corev1.SchemeGroupVersion.WithKind("ServiceAccount"), "serviceaccounts", shared.Accounts.Informers, nil},
		{rbacv1.SchemeGroupVersion.WithKind("Role"), "roles", shared.Roles.Informers, nil},
		{rbacv1.SchemeGroupVersion.WithKind("RoleBinding"), "rolebindings", shared.RoleBindings.Informers, nil},
		{rbacv1.SchemeGroupVersion.WithKind("ClusterRole"), "clusterroles", shared.ClusterRoles.Informers, nil},
		{rbacv1.SchemeGroupVersion.WithKind("ClusterRoleBinding"), "clusterrolebindings", shared.ClusterRoleBindings.Informers, nil},
	}
}

func conditions[T drift.Object](of func(T) any) func(drift.Object) []operatorsv1.Condition {
	return func(o drift.Object) []operatorsv1.Condition { return component.Conditions(of(o.(T))) }
}

func conditionsOf(o *unstructured.Unstructured) any {
	found, _, err := unstructured.NestedFieldNoCopy(o.Object, "status", "conditions")
	if err != nil {
		return nil // the status has another form
	}
	return found
}

func phase(o drift.Object) []operatorsv1.Condition {
	return component.Phase(o.(*operatorsv1alpha1.ClusterServiceVersion))
}

func (k kind) gvr() schema.GroupVersionResource { return k.GroupVersion().WithResource(k.resource) }

// by returns the objects with a value in an index.
func (k kind) by(index, value string) (objects []drift.Object) {
	for _, informer := range k.informers {
		found, err := informer.GetIndexer().ByIndex(index, value)
		if err != nil {
			panic(err) // an index that was not added
		}
		for _, o := range found {
			objects = append(objects, o.(drift.Object))
		}
	}
	return objects
}

// addIndex adds the index byComponent.
func (k kind) addIndex() error {
	for _, informer := range k.informers {
		if err := informer.AddIndexers(cache.Indexers{byComponent: operatorsOf}); err != nil {
			return err
		}
	}
	return nil
}

func operatorsOf(o any) ([]string, error) {
	object, ok := o.(drift.Object)
	if !ok || isCopy(object) {
		return nil, nil
	}
	return component.OperatorsOf(object.GetLabels()), nil
}

// isCopy reports whether an object is a copy of a ClusterServiceVersion. An old OLM v0 labelled copies, too.
func isCopy(o drift.Object) bool {
	csv, ok := o.(*operatorsv1alpha1.ClusterServiceVersion)
	return ok && csv.IsCopied()
}
