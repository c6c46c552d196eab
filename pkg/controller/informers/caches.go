// Package informers holds the caches of the controller, and what it expects them to show.
package informers

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	extensionsinformers "k8s.io/apiextensions-apiserver/pkg/client/informers/externalversions"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	aggregatorinformers "k8s.io/kube-aggregator/pkg/client/informers/externalversions"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/clients"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmclient"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// Caches hold derived objects by their label, and other objects stripped to what decisions read.
type Caches struct {
	CSVs        Store[*operatorsv1alpha1.ClusterServiceVersion] // without the label of copies
	Copies      Store[*Copy]                                    // with it
	Groups      Store[*operatorsv1.OperatorGroup]
	Rollouts    Store[*managerv1alpha1.WebhookRollout]
	Namespaces  Store[*corev1.Namespace]
	Accounts    Store[*corev1.ServiceAccount]
	Deployments Store[*appsv1.Deployment]
	Pods        Store[*corev1.Pod]
	Services    Store[*corev1.Service]
	Slices      Store[*discoveryv1.EndpointSlice]
	Secrets     Store[*corev1.Secret]
	Budgets     Store[*policyv1.PodDisruptionBudget]
	Validating  Store[*admissionregistrationv1.ValidatingWebhookConfiguration]
	Mutating    Store[*admissionregistrationv1.MutatingWebhookConfiguration]
	CRDs        Store[*apiextensionsv1.CustomResourceDefinition]

	Subscriptions Store[*operatorsv1alpha1.Subscription]
	Plans         Store[*operatorsv1alpha1.InstallPlan] // empty unless StartPlans was called

	// All of the cluster, including the manager's own, whichever client granted it.
	Roles               Store[*rbacv1.Role]
	ClusterRoles        Store[*rbacv1.ClusterRole]
	RoleBindings        Store[*rbacv1.RoleBinding]
	ClusterRoleBindings Store[*rbacv1.ClusterRoleBinding]
	APIServices         Store[*apiregistrationv1.APIService]

	namespaces  []string // of the manager; none means all
	factories   []factory
	end         <-chan struct{} // stops what is started later
	startPlans  func()          // nil unless WatchPlans was called
	aggregator  factory         // unless Aggregation is absent
	Aggregation *Aggregation
}

type factory interface {
	StartWithContext(context.Context)
}

// NewCaches reads workloads and Secrets in the namespaces of the manager only; none means all. What can conflict
// with an operator, or grant it permissions, is read in all.
func NewCaches(clients clients.Set, namespaces []string) *Caches {
	all := informers.NewSharedInformerFactory(clients.Kube, 0)
	managed := informers.NewSharedInformerFactoryWithOptions(clients.Kube, 0, selecting(wellknown.LabelManaged+"=true"))
	own := newLimited(clients.Kube, namespaces)
	csvs := olmclient.NewSelectingInformer(clients.OLM.ClusterServiceVersions(metav1.NamespaceAll), csvspec.SelectUnlabelled)
	copies := newCopyInformer(clients.Metadata)
	groups := olmclient.NewInformer(clients.OLM.OperatorGroups(metav1.NamespaceAll))
	rollouts := olmclient.NewInformer(clients.OLM.WebhookRollouts(metav1.NamespaceAll))
	subscriptions := olmclient.NewInformer(clients.OLM.Subscriptions(metav1.NamespaceAll))
	apis := aggregatorinformers.NewSharedInformerFactory(clients.Aggregator, 0)
	extensions := extensionsinformers.NewSharedInformerFactory(clients.Extensions, 0)
	return &Caches{
		Copies:     NewStore[*Copy](asCopy, copies),
		CSVs:       NewStore[*operatorsv1alpha1.ClusterServiceVersion](trimmedCSV, csvs),
		Groups:     NewStore[*operatorsv1.OperatorGroup](withoutManagedFields, groups),
		Rollouts:   NewStore[*managerv1alpha1.WebhookRollout](withoutManagedFields, rollouts),
		Namespaces: NewStore[*corev1.Namespace](withoutManagedFields, all.Core().V1().Namespaces().Informer()),
		Accounts:   NewStore[*corev1.ServiceAccount](withoutManagedFields, all.Core().V1().ServiceAccounts().Informer()),
		Pods: NewStore[*corev1.Pod](withoutPodSpec, lists.Map(own.labelledPods, func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
			return f.Core().V1().Pods().Informer()
		})...),
		Deployments: NewStore[*appsv1.Deployment](trimManagedFields, lists.Map(own.derived, func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
			return f.Apps().V1().Deployments().Informer()
		})...),
		Services: NewStore[*corev1.Service](trimManagedFields, lists.Map(own.derived, func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
			return f.Core().V1().Services().Informer()
		})...),
		Slices: NewStore[*discoveryv1.EndpointSlice](withoutManagedFields, lists.Map(own.derived, func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
			return f.Discovery().V1().EndpointSlices().Informer()
		})...),
		Secrets: NewStore[*corev1.Secret](withoutManagedFields, lists.Map(own.derived, func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
			return f.Core().V1().Secrets().Informer()
		})...),
		Budgets: NewStore[*policyv1.PodDisruptionBudget](withoutBudgetStatus, lists.Map(own.derived, func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
			return f.Policy().V1().PodDisruptionBudgets().Informer()
		})...),
		Validating: NewStore[*admissionregistrationv1.ValidatingWebhookConfiguration](trimManagedFields, managed.Admissionregistration().V1().ValidatingWebhookConfigurations().Informer()),
		Mutating:   NewStore[*admissionregistrationv1.MutatingWebhookConfiguration](trimManagedFields, managed.Admissionregistration().V1().MutatingWebhookConfigurations().Informer()),
		CRDs:       NewStore[*apiextensionsv1.CustomResourceDefinition](withoutSchemas, extensions.Apiextensions().V1().CustomResourceDefinitions().Informer()),

		Subscriptions: NewStore[*operatorsv1alpha1.Subscription](withoutCatalog, subscriptions),
		Plans:         NewStore[*operatorsv1alpha1.InstallPlan](withoutManifests, olmclient.NewInformer(clients.OLM.InstallPlans(metav1.NamespaceAll))),

		Roles:               NewStore[*rbacv1.Role](unlessManaged(onlyGrant), all.Rbac().V1().Roles().Informer()),
		ClusterRoles:        NewStore[*rbacv1.ClusterRole](unlessManaged(onlyGrant), all.Rbac().V1().ClusterRoles().Informer()),
		RoleBindings:        NewStore[*rbacv1.RoleBinding](unlessManaged(onlyGrant), all.Rbac().V1().RoleBindings().Informer()),
		ClusterRoleBindings: NewStore[*rbacv1.ClusterRoleBinding](unlessManaged(onlyGrant), all.Rbac().V1().ClusterRoleBindings().Informer()),
		APIServices:         NewStore[*apiregistrationv1.APIService](unlessManaged(withoutManagedFields), apis.Apiregistration().V1().APIServices().Informer()),

		namespaces: namespaces, factories: append(own.factories(), all, managed, extensions, olmclient.Informers{csvs, copies, groups, rollouts, subscriptions}), aggregator: apis, Aggregation: &Aggregation{},
	}
}

// Manages reports whether the manager installs the operators in a namespace.
func (c *Caches) Manages(namespace string) bool {
	return len(c.namespaces) == 0 || slices.Contains(c.namespaces, namespace)
}

// WatchPlans fills the cache of InstallPlans, too, once the API server serves them.
func (c *Caches) WatchPlans() {
	c.startPlans = sync.OnceFunc(func() {
		for _, informer := range c.Plans.Informers {
			go informer.Run(c.end)
		}
	})
}

// StartPlans is called when the API server serves InstallPlans.
func (c *Caches) StartPlans() {
	if c.startPlans != nil && c.Serves(InstallPlans) {
		c.startPlans()
	}
}

func selecting(labels string) informers.SharedInformerOption {
	return informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = labels })
}

// Start starts the informers.
func (c *Caches) Start(ctx context.Context) {
	c.end = ctx.Done()
	for _, f := range c.factories {
		f.StartWithContext(ctx)
	}
	if !c.Aggregation.Absent() {
		c.aggregator.StartWithContext(ctx)
	}
}

type anyStore interface {
	Named(namespace, name string) []drift.Object
	holds(kind drift.Object) bool
	Synced() bool
}

func (c *Caches) stores() []anyStore {
	return []anyStore{
		c.CSVs, c.Copies, c.Subscriptions, c.Groups, c.Rollouts, c.Namespaces, c.Accounts, c.Deployments, c.Pods, c.Services, c.Slices, c.Secrets, c.Budgets,
		c.Validating, c.Mutating, c.CRDs, c.Roles, c.ClusterRoles, c.RoleBindings, c.ClusterRoleBindings, c.APIServices,
	}
}

func (c *Caches) find(kind drift.Object, namespace, name string) drift.Object {
	for _, store := range c.stores() {
		if store.holds(kind) {
			for _, o := range store.Named(namespace, name) {
				return o
			}
		}
	}
	return nil
}

// Serves reports whether the API server serves a resource that a CustomResourceDefinition defines.
func (c *Caches) Serves(resource schema.GroupVersionResource) bool {
	crd := c.CRDs.Get("", resource.GroupResource().String())
	return crd != nil && apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.Established) && apihelpers.HasServedCRDVersion(crd, resource.Version)
}

// Synced does not wait for APIServices if the API server does not aggregate APIs, nor for InstallPlans of a cluster that
// does not serve them.
func (c *Caches) Synced() bool {
	for _, store := range c.stores() {
		if !store.Synced() && !(c.Aggregation.Absent() && store.holds(&apiregistrationv1.APIService{})) {
			return false
		}
	}
	return c.startPlans == nil || c.Plans.Synced() || !c.Serves(InstallPlans)
}

// InstallPlans is the resource that catalog-operator writes. A cluster without OLM does not have it.
var InstallPlans = operatorsv1alpha1.SchemeGroupVersion.WithResource("installplans")

// Aggregation records whether the API server aggregates APIs. One that does not needs a restart to do so.
type Aggregation struct{ absent atomic.Bool }

// Absent reports whether the API server does not aggregate APIs.
func (a *Aggregation) Absent() bool { return a.absent.Load() }

// Discover asks the API server.
func (a *Aggregation) Discover(ctx context.Context, client rest.Interface) error {
	err := client.Get().AbsPath("/apis/" + apiregistrationv1.SchemeGroupVersion.String()).Do(ctx).Error()
	if apierrors.IsNotFound(err) {
		a.absent.Store(true)
		return nil
	}
	return err
}

// limited holds factories by namespace: a manager needs no permission to read Secrets and workloads of others.
type limited struct {
	derived, labelledPods []informers.SharedInformerFactory
}

func newLimited(kube kubernetes.Interface, namespaces []string) limited {
	var l limited
	for _, namespace := range orAll(namespaces) {
		of := func(labels string) informers.SharedInformerFactory {
			return informers.NewSharedInformerFactoryWithOptions(kube, 0, informers.WithNamespace(namespace), selecting(labels))
		}
		l.derived = append(l.derived, of(wellknown.LabelManaged+"=true"))
		l.labelledPods = append(l.labelledPods, of(wellknown.LabelCSV))
	}
	return l
}

func orAll(namespaces []string) []string {
	if len(namespaces) == 0 {
		return []string{metav1.NamespaceAll}
	}
	return lists.Sorted(namespaces)
}

func (l limited) factories() []factory {
	return lists.Map(slices.Concat(l.derived, l.labelledPods), func(f informers.SharedInformerFactory) factory { return f })
}
