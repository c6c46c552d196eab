package roles

import (
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/client-go/tools/cache"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmoperator/provider"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmoperator/roles/clusterrole"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// byGroup is an index of ClusterRoles by their OperatorGroup.
const byGroup = "role-of-group"

func (c *Controller) register() {
	for _, informer := range c.caches.ClusterRoles.Informers {
		mustNotBeStopped(informer.AddIndexers(cache.Indexers{byGroup: groupKeys}))
	}
	for _, watched := range []struct {
		informers []cache.SharedIndexInformer
		changed   func(before, after drift.Object)
	}{
		{c.caches.Groups.Informers, c.groupChanged},
		{c.caches.CSVs.Informers, c.versionChanged},
		{c.caches.CRDs.Informers, c.definitionChanged},
		{c.caches.APIServices.Informers, c.apiServiceChanged},
		{c.caches.ClusterRoles.Informers, c.roleChanged},
		{c.caches.ClusterRoleBindings.Informers, c.bindingChanged},
	} {
		for _, informer := range watched.informers {
			_, err := informer.AddEventHandler(informers.Handler(watched.changed))
			mustNotBeStopped(err)
		}
	}
}

// Only a stopped informer refuses an index or a handler.
func mustNotBeStopped(err error) {
	if err != nil {
		panic(err)
	}
}

func groupKeys(o any) ([]string, error) {
	if role, isRole := o.(*rbacv1.ClusterRole); isRole {
		if namespace, name, ok := clusterrole.GroupOf(role); ok {
			return []string{cache.NewObjectName(namespace, name).String()}, nil
		}
	}
	return nil, nil
}

func (c *Controller) groupChanged(before, after drift.Object) {
	c.groups.Add(cache.MetaObjectToName(present(before, after)[0]))
}

// Most changes of a status concern no ClusterRole.
func (c *Controller) versionChanged(before, after drift.Object) {
	csv := present(before, after)[0].(*operatorsv1alpha1.ClusterServiceVersion)
	if csv.IsCopied() || before != nil && after != nil && sameVersion(before.(*operatorsv1alpha1.ClusterServiceVersion), csv) {
		return
	}
	c.versions.Add(cache.MetaObjectToName(csv))
	c.enqueueGroupsOf(csv)
}

func sameVersion(a, b *operatorsv1alpha1.ClusterServiceVersion) bool {
	return a.UID == b.UID && a.Generation == b.Generation && a.Status.Phase == b.Status.Phase && a.Status.Reason == b.Status.Reason &&
		a.DeletionTimestamp.Equal(b.DeletionTimestamp) && csvspec.IsGivenBack(a) == csvspec.IsGivenBack(b)
}

func (c *Controller) enqueueGroupsOf(csv *operatorsv1alpha1.ClusterServiceVersion) {
	for _, group := range c.caches.Groups.In(csv.Namespace) {
		c.groups.Add(cache.MetaObjectToName(group))
	}
}

func (c *Controller) definitionChanged(before, after drift.Object) {
	if before != nil && after != nil && sameDefinition(before.(*apiextensionsv1.CustomResourceDefinition), after.(*apiextensionsv1.CustomResourceDefinition)) {
		return
	}
	name := present(before, after)[0].GetName()
	for _, csv := range c.caches.CSVs.By(informers.ByCRD, name) {
		c.versions.Add(cache.MetaObjectToName(csv))
		if before == nil || after == nil { // the kind of a definition cannot change
			c.enqueueGroupsOf(csv)
		}
	}
}

func sameDefinition(a, b *apiextensionsv1.CustomResourceDefinition) bool {
	established := func(crd *apiextensionsv1.CustomResourceDefinition) bool {
		return apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.Established)
	}
	return a.UID == b.UID && a.Generation == b.Generation && established(a) == established(b) && equality.Semantic.DeepEqual(a.Annotations, b.Annotations)
}

func (c *Controller) apiServiceChanged(before, after drift.Object) {
	if before != nil && after != nil && sameAPIService(before.(*apiregistrationv1.APIService), after.(*apiregistrationv1.APIService)) {
		return
	}
	name := present(before, after)[0].GetName()
	for _, csv := range c.caches.CSVs.By(informers.ByAPI, name) {
		c.versions.Add(cache.MetaObjectToName(csv))
	}
}

func sameAPIService(a, b *apiregistrationv1.APIService) bool {
	return a.UID == b.UID && equality.Semantic.DeepEqual(a.Spec, b.Spec) && equality.Semantic.DeepEqual(a.Labels, b.Labels)
}

// An edit can remove the labels and the owner by which a ClusterRole is recognised: the state before it counts, too.
func (c *Controller) roleChanged(before, after drift.Object) {
	for _, o := range present(before, after) {
		role := o.(*rbacv1.ClusterRole)
		c.taken.wake(role.Name)
		if namespace, name, ok := clusterrole.GroupOf(role); ok {
			c.groups.Add(cache.NewObjectName(namespace, name))
		}
		if before != nil { // the creation is an own write, or follows the events of ClusterServiceVersions
			c.enqueueProviders(role)
		}
	}
}

// bindingChanged enqueues the ClusterServiceVersions whose ServiceAccounts a binding gives permissions in all namespaces:
// they may provide an API because of these.
func (c *Controller) bindingChanged(before, after drift.Object) {
	for _, binding := range present(before, after) {
		for _, subject := range informers.SubjectsOf(binding) {
			for _, csv := range c.caches.CSVs.By(informers.BySubject, subject) {
				if provider.HasProvided(csv) {
					c.versions.Add(cache.MetaObjectToName(csv))
				}
			}
		}
	}
}

// enqueueProviders enqueues the ClusterServiceVersions that may provide the API of a ClusterRole.
func (c *Controller) enqueueProviders(role *rbacv1.ClusterRole) {
	definitions, services := clusterrole.APIOwners(role)
	for index, names := range map[string][]string{informers.ByCRD: definitions, informers.ByAPI: services} {
		for _, name := range names {
			for _, csv := range c.caches.CSVs.By(index, name) {
				if provider.HasProvided(csv) {
					c.versions.Add(cache.MetaObjectToName(csv))
				}
			}
		}
	}
}

func present(before, after drift.Object) []drift.Object {
	var all []drift.Object
	for _, o := range []drift.Object{after, before} {
		if o != nil {
			all = append(all, o)
		}
	}
	return all
}
