package copies

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/client-go/tools/cache"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
)

func (c *Controller) watch() error {
	for _, watched := range []struct {
		informers []cache.SharedIndexInformer
		changed   func(before, after drift.Object)
	}{
		{c.caches.CSVs.Informers, c.originalChanged},
		{c.caches.Copies.Informers, c.copyChanged},
		{c.caches.Groups.Informers, c.groupChanged},
		{c.caches.Namespaces.Informers, c.namespaceChanged},
		{c.caches.CRDs.Informers, c.olmConfig.definitionChanged},
		{c.olmConfig.store.Informers, c.olmConfig.changed},
	} {
		for _, informer := range watched.informers {
			if _, err := informer.AddEventHandler(informers.Handler(watched.changed)); err != nil {
				return err
			}
		}
	}
	return nil
}

func present(before, after drift.Object) drift.Object {
	if after != nil {
		return after
	}
	return before
}

// originalChanged also concerns the copy of that name in the namespace: an original occupies or frees the name.
func (c *Controller) originalChanged(before, after drift.Object) {
	changed := cache.MetaObjectToName(present(before, after))
	c.originals.AddAfter(changed, batch)
	c.copies.Add(changed)
}

// copyChanged ignores what the manager wrote itself.
func (c *Controller) copyChanged(before, after drift.Object) {
	changed := present(before, after)
	name := cache.MetaObjectToName(changed)
	if !c.written.seen(name, changed.GetResourceVersion()) || after == nil {
		c.copies.Add(name)
	}
}

func (c *Controller) groupChanged(before, after drift.Object) {
	if before != nil && after != nil && before.GetUID() == after.GetUID() && before.GetGeneration() == after.GetGeneration() &&
		before.GetDeletionTimestamp().IsZero() == after.GetDeletionTimestamp().IsZero() {
		return
	}
	for _, csv := range c.caches.CSVs.In(present(before, after).GetNamespace()) {
		c.originals.AddAfter(cache.MetaObjectToName(csv), batch)
	}
}

// namespaceChanged adds one copy for each ClusterServiceVersion whose OperatorGroup covers the Namespace, or did so.
func (c *Controller) namespaceChanged(before, after drift.Object) {
	if after == nil || before != nil && equality.Semantic.DeepEqual(before.GetLabels(), after.GetLabels()) {
		return
	}
	groups := c.groupsSelecting(after.(*corev1.Namespace))
	if before == nil {
		groups = slices.Concat(groups, c.caches.Groups.By(byExtent, everywhere), c.caches.Groups.By(informers.ByTarget, after.GetName()))
	} else {
		groups = slices.Concat(groups, c.groupsSelecting(before.(*corev1.Namespace)))
	}
	for _, group := range groups {
		for _, csv := range c.caches.CSVs.In(group.Namespace) {
			c.copies.Add(cache.NewObjectName(after.GetName(), csv.Name))
		}
	}
}

func (c *Controller) groupsSelecting(namespace *corev1.Namespace) (groups []*operatorsv1.OperatorGroup) {
	for _, key := range scope.SelectableBy(namespace) {
		groups = append(groups, c.caches.Groups.By(informers.BySelection, key)...)
	}
	return groups
}

// configChanged concerns the operators of all namespaces if the setting has changed.
func (c *Controller) configChanged(setting bool) {
	c.config.AddAfter(configName, conditionDelay)
	if !setting {
		return
	}
	for _, group := range c.caches.Groups.By(byExtent, everywhere) {
		for _, csv := range c.caches.CSVs.In(group.Namespace) {
			c.originals.Add(cache.MetaObjectToName(csv))
		}
	}
}

// originalsNamed returns the ClusterServiceVersions of a name that are no copies.
func (c *Controller) originalsNamed(name string) []*operatorsv1alpha1.ClusterServiceVersion {
	return slices.DeleteFunc(c.caches.CSVs.By(byName, name), (*operatorsv1alpha1.ClusterServiceVersion).IsCopied)
}
