package controller

import (
	"context"
	"maps"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	extensionsinformers "k8s.io/apiextensions-apiserver/pkg/client/informers/externalversions"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	aggregatorinformers "k8s.io/kube-aggregator/pkg/client/informers/externalversions"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/vocabulary"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs"
	olminformers "github.com/olm-webhook-manager/olm-webhook-manager/pkg/client/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// caches hold what the decisions look at, and no more: derived objects by their
// label, foreign ones stripped to what is read of them.
type caches struct {
	csvs        store[*operatorsv1alpha1.ClusterServiceVersion]
	groups      store[*operatorsv1.OperatorGroup]
	rollouts    store[*managerv1alpha1.WebhookRollout]
	namespaces  store[*corev1.Namespace]
	accounts    store[*corev1.ServiceAccount]
	deployments store[*appsv1.Deployment]
	pods        store[*corev1.Pod]
	services    store[*corev1.Service]
	slices      store[*discoveryv1.EndpointSlice]
	secrets     store[*corev1.Secret]
	validating  store[*admissionregistrationv1.ValidatingWebhookConfiguration]
	mutating    store[*admissionregistrationv1.MutatingWebhookConfiguration]
	crds        store[*apiextensionsv1.CustomResourceDefinition]

	subscriptions store[*operatorsv1alpha1.Subscription]

	// What ServiceAccounts may do, whoever grants it: the manager's own roles and bindings are
	// among these, and so are its APIServices among all others.
	roles               store[*rbacv1.Role]
	clusterRoles        store[*rbacv1.ClusterRole]
	roleBindings        store[*rbacv1.RoleBinding]
	clusterRoleBindings store[*rbacv1.ClusterRoleBinding]
	apiServices         store[*apiregistrationv1.APIService]

	factories   []factory
	aggregator  factory // where there is any
	aggregation *aggregation
}

type factory interface {
	StartWithContext(context.Context)
}

// newCaches are those of a manager of some namespaces; none means all. The workloads and Secrets of
// operators are read in these only. What can conflict with its operators, or grant them something, is read in all.
func newCaches(clients Clients, namespaces []string) caches {
	all := informers.NewSharedInformerFactory(clients.Kube, 0)
	managed := informers.NewSharedInformerFactoryWithOptions(clients.Kube, 0, selecting(vocabulary.LabelManaged+"=true"))
	own := newLimited(clients.Kube, namespaces)
	operators := olminformers.NewSharedInformerFactory(clients.OLM, 0)
	apis := aggregatorinformers.NewSharedInformerFactory(clients.Aggregator, 0)
	extensions := extensionsinformers.NewSharedInformerFactory(clients.Extensions, 0)
	return caches{
		csvs:       newStore[*operatorsv1alpha1.ClusterServiceVersion](withoutProse, operators.Operators().V1alpha1().ClusterServiceVersions().Informer()),
		groups:     newStore[*operatorsv1.OperatorGroup](withoutManagedFields, operators.Operators().V1().OperatorGroups().Informer()),
		rollouts:   newStore[*managerv1alpha1.WebhookRollout](withoutManagedFields, operators.Manager().V1alpha1().WebhookRollouts().Informer()),
		namespaces: newStore[*corev1.Namespace](withoutManagedFields, all.Core().V1().Namespaces().Informer()),
		accounts:   newStore[*corev1.ServiceAccount](withoutManagedFields, all.Core().V1().ServiceAccounts().Informer()),
		pods: newStore[*corev1.Pod](withoutPodSpec, own.pods(func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
			return f.Core().V1().Pods().Informer()
		})...),
		deployments: newStore[*appsv1.Deployment](lean, own.managed(func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
			return f.Apps().V1().Deployments().Informer()
		})...),
		services: newStore[*corev1.Service](lean, own.managed(func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
			return f.Core().V1().Services().Informer()
		})...),
		slices: newStore[*discoveryv1.EndpointSlice](withoutManagedFields, own.managed(func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
			return f.Discovery().V1().EndpointSlices().Informer()
		})...),
		secrets: newStore[*corev1.Secret](withoutManagedFields, own.managed(func(f informers.SharedInformerFactory) cache.SharedIndexInformer {
			return f.Core().V1().Secrets().Informer()
		})...),
		validating: newStore[*admissionregistrationv1.ValidatingWebhookConfiguration](lean, managed.Admissionregistration().V1().ValidatingWebhookConfigurations().Informer()),
		mutating:   newStore[*admissionregistrationv1.MutatingWebhookConfiguration](lean, managed.Admissionregistration().V1().MutatingWebhookConfigurations().Informer()),
		crds:       newStore[*apiextensionsv1.CustomResourceDefinition](withoutSchemas, extensions.Apiextensions().V1().CustomResourceDefinitions().Informer()),

		subscriptions: newStore[*operatorsv1alpha1.Subscription](withoutCatalog, operators.Operators().V1alpha1().Subscriptions().Informer()),

		roles:               newStore[*rbacv1.Role](unlessManaged(onlyRules), all.Rbac().V1().Roles().Informer()),
		clusterRoles:        newStore[*rbacv1.ClusterRole](unlessManaged(onlyRules), all.Rbac().V1().ClusterRoles().Informer()),
		roleBindings:        newStore[*rbacv1.RoleBinding](unlessManaged(onlySubjects), all.Rbac().V1().RoleBindings().Informer()),
		clusterRoleBindings: newStore[*rbacv1.ClusterRoleBinding](unlessManaged(onlySubjects), all.Rbac().V1().ClusterRoleBindings().Informer()),
		apiServices:         newStore[*apiregistrationv1.APIService](unlessManaged(withoutManagedFields), apis.Apiregistration().V1().APIServices().Informer()),

		factories: append(own.factories(), all, managed, operators, extensions), aggregator: apis, aggregation: &aggregation{},
	}
}

// unlessManaged leaves derived objects lean, which the manager repairs.
func unlessManaged(strip cache.TransformFunc) cache.TransformFunc {
	return func(o any) (any, error) {
		if object, ok := o.(metav1.Object); ok && install.Managed(object) {
			return lean(o)
		}
		return strip(o)
	}
}

// lean keeps of a derived object what its repair depends on.
func lean(o any) (any, error) {
	if object, ok := o.(drift.Object); ok {
		drift.TrimManagedFields(object)
	}
	return o, nil
}

func selecting(labels string) informers.SharedInformerOption {
	return informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = labels })
}

func (c caches) start(ctx context.Context) {
	for _, f := range c.factories {
		f.StartWithContext(ctx)
	}
	if !c.aggregation.absent.Load() {
		c.aggregator.StartWithContext(ctx)
	}
}

func (c caches) synced() []cache.InformerSynced {
	return []cache.InformerSynced{
		c.csvs.synced, c.subscriptions.synced, c.groups.synced, c.rollouts.synced, c.namespaces.synced, c.accounts.synced, c.deployments.synced, c.pods.synced,
		c.services.synced, c.slices.synced, c.secrets.synced, c.validating.synced, c.mutating.synced, c.crds.synced,
		c.roles.synced, c.clusterRoles.synced, c.roleBindings.synced, c.clusterRoleBindings.synced, c.aggregation.unless(c.apiServices.synced),
	}
}

// withoutManagedFields drops what is read of no object but those that the manager repairs.
func withoutManagedFields(o any) (any, error) {
	if object, err := meta.Accessor(o); err == nil {
		object.SetManagedFields(nil)
	}
	return o, nil
}

// withoutProse keeps what passes look at of a ClusterServiceVersion.
func withoutProse(o any) (any, error) {
	if csv, ok := o.(*operatorsv1alpha1.ClusterServiceVersion); ok {
		dropProse(csv)
	}
	return o, nil
}

// dropProse drops the parts of a ClusterServiceVersion that are for catalogs and consoles, and who
// wrote what, but for orders to rotate.
func dropProse(csv *operatorsv1alpha1.ClusterServiceVersion) {
	csv.ManagedFields = slices.DeleteFunc(csv.ManagedFields, func(w metav1.ManagedFieldsEntry) bool {
		return !certs.WritesRotateAt([]metav1.ManagedFieldsEntry{w})
	})
	delete(csv.Annotations, corev1.LastAppliedConfigAnnotation) // the whole of it once more
	csv.Spec.Icon, csv.Spec.Description = nil, ""
	csv.Spec.Keywords, csv.Spec.Maintainers, csv.Spec.Links, csv.Spec.RelatedImages = nil, nil, nil, nil
	for _, described := range [][]operatorsv1alpha1.CRDDescription{csv.Spec.CustomResourceDefinitions.Owned, csv.Spec.CustomResourceDefinitions.Required} {
		for i := range described {
			d := &described[i]
			*d = operatorsv1alpha1.CRDDescription{Name: d.Name, Version: d.Version, Kind: d.Kind, DisplayName: d.DisplayName}
		}
	}
}

// withoutCatalog keeps what a Subscription configures, and for which
// ClusterServiceVersion.
func withoutCatalog(o any) (any, error) {
	if s, ok := o.(*operatorsv1alpha1.Subscription); ok {
		s.ManagedFields, s.Annotations, s.Labels = nil, nil, nil
		s.Status = operatorsv1alpha1.SubscriptionStatus{InstalledCSV: s.Status.InstalledCSV}
		if s.Spec != nil {
			s.Spec = &operatorsv1alpha1.SubscriptionSpec{StartingCSV: s.Spec.StartingCSV, Config: s.Spec.Config}
		}
	}
	return o, nil
}

// withoutSchemas keeps what says how a CustomResourceDefinition's objects are
// converted, served and stored.
func withoutSchemas(o any) (any, error) {
	if crd, ok := o.(*apiextensionsv1.CustomResourceDefinition); ok {
		drift.TrimDefinition(crd)
		maps.DeleteFunc(crd.Annotations, func(key, _ string) bool { return key == corev1.LastAppliedConfigAnnotation })
		for i := range crd.Spec.Versions {
			v := crd.Spec.Versions[i]
			crd.Spec.Versions[i] = apiextensionsv1.CustomResourceDefinitionVersion{Name: v.Name, Served: v.Served, Storage: v.Storage, Subresources: v.Subresources}
		}
	}
	return o, nil
}

// withoutPodSpec keeps a pod's identity and status, and the ports of its containers that have a name.
func withoutPodSpec(o any) (any, error) {
	if pod, ok := o.(*corev1.Pod); ok {
		pod.ManagedFields, pod.Annotations = nil, nil
		pod.Spec = corev1.PodSpec{Containers: namedPorts(pod.Spec.Containers), InitContainers: namedPorts(pod.Spec.InitContainers)}
	}
	return o, nil
}

// namedPorts are the containers that name a port, with these ports alone.
func namedPorts(containers []corev1.Container) []corev1.Container {
	var all []corev1.Container
	for _, c := range containers {
		ports := slices.DeleteFunc(slices.Clone(c.Ports), func(p corev1.ContainerPort) bool { return p.Name == "" })
		if len(ports) > 0 {
			all = append(all, corev1.Container{Name: c.Name, Ports: ports})
		}
	}
	return all
}
