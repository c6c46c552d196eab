package controller

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs/issuers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
)

// watch maps every change to the keys that have to be looked at because of it.
func (c *Controller) watch() error {
	for _, watched := range []struct {
		informers []cache.SharedIndexInformer
		changed   func(before, after drift.Object)
	}{
		{c.caches.csvs.informers, c.versionChanged},
		{c.caches.csvs.informers, c.apisChanged},
		{c.caches.csvs.informers, c.claimChanged},
		{c.caches.rollouts.informers, c.ownersChanged},
		{c.caches.deployments.informers, c.deploymentChanged},
		{c.caches.pods.informers, c.ownersChanged},
		{c.caches.services.informers, c.ownersChanged},
		{c.caches.slices.informers, c.ownersChanged},
		{c.caches.secrets.informers, c.ownersChanged},
		{c.caches.roles.informers, c.ownersChanged},
		{c.caches.roleBindings.informers, c.ownersChanged},
		{c.caches.clusterRoleBindings.informers, c.ownersChanged},
		{c.caches.clusterRoles.informers, c.ownersChanged},
		{c.caches.validating.informers, c.registrationChanged},
		{c.caches.mutating.informers, c.registrationChanged},
		{c.caches.crds.informers, c.crdChanged},
		{c.caches.crds.informers, c.servedChanged},
		{c.caches.groups.informers, c.groupChanged},
		{c.caches.subscriptions.informers, c.subscriptionChanged},
		{c.caches.namespaces.informers, c.namespaceChanged},
		{c.caches.accounts.informers, c.accountChanged},
		{c.caches.roles.informers, c.rulesChanged},
		{c.caches.clusterRoles.informers, c.rulesChanged},
		{c.caches.roleBindings.informers, c.grantChanged},
		{c.caches.clusterRoleBindings.informers, c.grantChanged},
		{c.caches.apiServices.informers, c.apiServiceChanged},
		{c.caches.apiServices.informers, c.servedChanged},
	} {
		for _, informer := range watched.informers {
			if _, err := informer.AddEventHandler(handler(watched.changed)); err != nil {
				return err
			}
		}
	}
	return nil
}

// handler calls changed with both states of an object; before is nil for a new one,
// after for one that is gone.
func handler(changed func(before, after drift.Object)) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) { changed(nil, o.(drift.Object)) },
		UpdateFunc: func(before, after any) {
			changed(before.(drift.Object), after.(drift.Object))
		},
		DeleteFunc: func(o any) {
			if unknown, ok := o.(cache.DeletedFinalStateUnknown); ok {
				o = unknown.Obj
			}
			changed(o.(drift.Object), nil)
		},
	}
}

// ownersChanged looks at the ClusterServiceVersions that an object belongs to, and
// at those that it belonged to.
func (c *Controller) ownersChanged(before, after drift.Object) {
	c.lookAtOwners(regular, before, after)
}

// deploymentChanged also matters, when a Deployment is deleted, to others that name it and wait for it.
func (c *Controller) deploymentChanged(before, after drift.Object) {
	c.ownersChanged(before, after)
	if after == nil {
		for _, csv := range c.caches.csvs.by(byDeployment, before.GetNamespace()+"/"+before.GetName()) {
			c.lookAt(csv)
		}
	}
}

// lookAtOwners does so in a lane, or in the spare one what the manager has written itself.
func (c *Controller) lookAtOwners(wanted lane, before, after drift.Object) {
	for _, o := range present(before, after) {
		for _, owner := range ownersOf(o) {
			for _, csv := range c.caches.csvs.ofOwner(owner) {
				k := key{csvKind, csv.Namespace, csv.Name}
				if after != nil && c.writes.echoes(k, after) {
					c.queue.add(k, spare)
					continue
				}
				c.queue.add(k, wanted)
			}
		}
	}
}

// registrationChanged also looks at the Namespaces: a label that no webhook selects
// by any more may go.
func (c *Controller) registrationChanged(before, after drift.Object) {
	if install.IsCanary(present(before, after)[0]) {
		return // whoever sent it waits for it, and one that is left is found at the next look
	}
	if before == nil {
		c.ownersChanged(before, after)
		return
	}
	c.lookAtOwners(urgent, before, after) // somebody may have taken a webhook out of service
	still := map[string]bool{}
	if after != nil {
		still = selectedBy(after)
	}
	for label := range selectedBy(before) {
		if !still[label] {
			c.lookAtNamespacesWith(label)
		}
	}
}

// crdChanged matters to those that depend on a CustomResourceDefinition, or on a kind
// of its group, and to those that convert it.
func (c *Controller) crdChanged(before, after drift.Object) {
	crd := present(before, after)[0].(*apiextensionsv1.CustomResourceDefinition)
	if crd.Name == issuers.CertificatesCRD || crd.Name == operatorConditionsCRD {
		c.lookAtAllCSVs()
	}
	for _, csv := range c.caches.csvs.by(byCRD, crd.Name) {
		c.queue.Add(key{csvKind, csv.Namespace, csv.Name})
	}
	c.groupServed(crd.Spec.Group)
	for _, v := range crd.Spec.Versions {
		c.apiChanged(schema.GroupVersion{Group: crd.Spec.Group, Version: v.Name})
	}
	for _, o := range present(before, after) {
		namespace, service := install.ConvertedBy(o.(*apiextensionsv1.CustomResourceDefinition))
		if owned := c.caches.services.get(namespace, service); owned != nil {
			c.ownersChanged(nil, owned)
		}
	}
}

// foreignChanged is about what is watched on demand: what an operator says of its condition,
// and what issuers look after. For that its owner waits; for what is the administrator's,
// as an issuer itself is, anybody may.
func (c *Controller) foreignChanged(before, after drift.Object) {
	changed := present(before, after)[0].(*unstructured.Unstructured)
	if changed.GetKind() == operatorConditionKind {
		c.conditionChanged(changed)
		return
	}
	if len(ownersOf(changed)) > 0 {
		c.ownersChanged(before, after)
	} else if changed.GetKind() != "ConfigMap" {
		c.lookAtAllCSVs()
	}
}

func (c *Controller) lookAtAllCSVs() {
	for _, csv := range c.caches.csvs.all() {
		c.queue.Add(key{csvKind, csv.Namespace, csv.Name})
	}
}

// groupChanged matters to the group itself. To its operators, to their rivals and to Namespaces only a
// change of what it covers or lists does, and not its status.
func (c *Controller) groupChanged(before, after drift.Object) {
	group := present(before, after)[0].(*operatorsv1.OperatorGroup)
	c.lookAtGroupsOf(group.Namespace)
	if before != nil && after != nil && before.GetUID() == after.GetUID() && before.GetGeneration() == after.GetGeneration() &&
		before.GetDeletionTimestamp().IsZero() == after.GetDeletionTimestamp().IsZero() && maps.Equal(before.GetAnnotations(), after.GetAnnotations()) {
		return
	}
	c.lookAtCSVsOf(group.Namespace)
	c.claimAll(group.Namespace)
	for _, o := range present(before, after) {
		c.lookAtTargets(o.(*operatorsv1.OperatorGroup))
	}
}

// lookAtTargets has the labels of the Namespaces checked that a group targets, or that bear its label.
func (c *Controller) lookAtTargets(group *operatorsv1.OperatorGroup) {
	targets, err := scope.Targets(group, c.namespacesFor(group))
	if err == nil {
		for _, name := range targets {
			c.queue.Add(key{kind: namespaceKind, name: name})
		}
	}
	c.lookAtNamespacesWith(scope.LabelOf(group))
}

// lookAtNamespacesWith has the labels of the Namespaces checked that bear one.
func (c *Controller) lookAtNamespacesWith(label string) {
	for _, namespace := range c.caches.namespaces.by(byGroupLabel, label) {
		c.queue.Add(key{kind: namespaceKind, name: namespace.Name})
	}
}

// namespaceChanged matters to the groups that target the Namespace, or did, and to
// whatever is in it when it comes or goes.
func (c *Controller) namespaceChanged(before, after drift.Object) {
	if before != nil && after != nil && equality.Semantic.DeepEqual(before.GetLabels(), after.GetLabels()) &&
		before.GetDeletionTimestamp().IsZero() == after.GetDeletionTimestamp().IsZero() {
		return
	}
	name := present(before, after)[0].GetName()
	c.queue.Add(key{kind: namespaceKind, name: name})
	c.lookAtCSVsOf(name)
	c.claimAll(name)
	was, _ := before.(*corev1.Namespace)
	is, _ := after.(*corev1.Namespace)
	for _, o := range present(before, after) {
		for _, group := range c.groupsOf(o.(*corev1.Namespace)) {
			if scope.Concerns(group, was, is) {
				c.scopes.forget(group.Namespace)
				c.queue.Add(key{groupKind, group.Namespace, group.Name})
				c.lookAtCSVsOf(group.Namespace)
				c.claimAll(group.Namespace)
			}
		}
	}
}

// accountChanged matters to ClusterServiceVersions that wait for a ServiceAccount or
// rely on one, and to the group that names it: only its coming, its going and its owners do.
func (c *Controller) accountChanged(before, after drift.Object) {
	if before == nil || after == nil || !equality.Semantic.DeepEqual(before.GetOwnerReferences(), after.GetOwnerReferences()) {
		account := present(before, after)[0].(*corev1.ServiceAccount)
		for _, csv := range c.caches.csvs.by(bySubject, install.SubjectsOf(account.Namespace, account.Name)[0]) {
			c.queue.Add(key{csvKind, csv.Namespace, csv.Name})
		}
		for _, group := range c.caches.groups.in(account.Namespace) {
			if group.Spec.ServiceAccountName == account.Name {
				c.queue.Add(key{groupKind, group.Namespace, group.Name})
			}
		}
	}
}

// apisChanged matters to the group that tells what a ClusterServiceVersion owns.
func (c *Controller) apisChanged(before, after drift.Object) {
	if before == nil || after == nil || before.GetGeneration() != after.GetGeneration() || after.GetDeletionTimestamp() != nil || claimsAnew(before, after) {
		c.lookAtGroupsOf(present(before, after)[0].GetNamespace())
	}
}

func (c *Controller) lookAtCSVsOf(namespace string) {
	for _, csv := range c.caches.csvs.in(namespace) {
		c.queue.Add(key{csvKind, csv.Namespace, csv.Name})
	}
}

func (c *Controller) lookAtGroupsOf(namespace string) {
	for _, group := range c.caches.groups.in(namespace) {
		c.queue.Add(key{groupKind, group.Namespace, group.Name})
	}
}

func present(before, after drift.Object) []drift.Object {
	return slices.DeleteFunc([]drift.Object{after, before}, func(o drift.Object) bool { return o == nil })
}
