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
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/queue"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/permissions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
)

// watch maps every change to the keys that have to be looked at because of it.
func (c *eventHandlers) watch() error {
	for _, watched := range []struct {
		informers []cache.SharedIndexInformer
		changed   func(before, after drift.Object)
	}{
		{c.caches.CSVs.Informers, c.versionChanged},
		{c.caches.CSVs.Informers, c.apisChanged},
		{c.caches.CSVs.Informers, c.claimChanged},
		{c.caches.Rollouts.Informers, c.ownersChanged},
		{c.caches.Deployments.Informers, c.deploymentChanged},
		{c.caches.Pods.Informers, c.ownersChanged},
		{c.caches.Services.Informers, c.ownersChanged},
		{c.caches.Slices.Informers, c.ownersChanged},
		{c.caches.Secrets.Informers, c.ownersChanged},
		{c.caches.Roles.Informers, c.ownersChanged},
		{c.caches.RoleBindings.Informers, c.ownersChanged},
		{c.caches.ClusterRoleBindings.Informers, c.ownersChanged},
		{c.caches.ClusterRoles.Informers, c.ownersChanged},
		{c.caches.Validating.Informers, c.registrationChanged},
		{c.caches.Mutating.Informers, c.registrationChanged},
		{c.caches.CRDs.Informers, c.crdChanged},
		{c.caches.CRDs.Informers, c.servedChanged},
		{c.caches.Groups.Informers, c.groupChanged},
		{c.caches.Subscriptions.Informers, c.subscriptionChanged},
		{c.caches.Namespaces.Informers, c.namespaceChanged},
		{c.caches.Accounts.Informers, c.accountChanged},
		{c.caches.Roles.Informers, c.rulesChanged},
		{c.caches.ClusterRoles.Informers, c.rulesChanged},
		{c.caches.RoleBindings.Informers, c.grantChanged},
		{c.caches.ClusterRoleBindings.Informers, c.grantChanged},
		{c.caches.APIServices.Informers, c.apiServiceChanged},
		{c.caches.APIServices.Informers, c.servedChanged},
	} {
		for _, informer := range watched.informers {
			if _, err := informer.AddEventHandler(informers.Handler(watched.changed)); err != nil {
				return err
			}
		}
	}
	return nil
}

// ownersChanged looks at the ClusterServiceVersions that an object belongs to, and
// at those that it belonged to.
func (c *eventHandlers) ownersChanged(before, after drift.Object) {
	c.lookAtOwners(queue.Regular, before, after)
}

// deploymentChanged also matters, when a Deployment is deleted, to others that name it and wait for it.
func (c *eventHandlers) deploymentChanged(before, after drift.Object) {
	c.ownersChanged(before, after)
	if after == nil {
		for _, csv := range c.caches.CSVs.By(informers.ByDeployment, before.GetNamespace()+"/"+before.GetName()) {
			c.versions.lookAt(csv)
		}
	}
}

// lookAtOwners does so in a queue.Priority, or in the spare one what the manager has written itself.
func (c *eventHandlers) lookAtOwners(wanted queue.Priority, before, after drift.Object) {
	for _, o := range present(before, after) {
		for _, owner := range informers.OwnersOf(o) {
			for _, csv := range c.caches.CSVs.OfOwner(owner) {
				k := queue.CSVKey(csv.Namespace, csv.Name)
				if after != nil && c.writes.IsEcho(k, after) {
					c.queue.AddWithPriority(k, queue.Low)
					continue
				}
				c.queue.AddWithPriority(k, wanted)
			}
		}
	}
}

// registrationChanged also looks at the Namespaces: a label that no webhook selects
// by any more may go.
func (c *eventHandlers) registrationChanged(before, after drift.Object) {
	if render.IsCanary(present(before, after)[0]) {
		return // whoever sent it waits for it, and one that is left is found at the next look
	}
	if before == nil {
		c.ownersChanged(before, after)
		return
	}
	c.lookAtOwners(queue.Urgent, before, after) // somebody may have taken a webhook out of service
	still := map[string]bool{}
	if after != nil {
		still = informers.SelectedLabels(after)
	}
	for label := range informers.SelectedLabels(before) {
		if !still[label] {
			c.lookAtNamespacesWith(label)
		}
	}
}

// crdChanged matters to those that depend on a CustomResourceDefinition, or on a kind
// of its group, and to those that convert it.
func (c *eventHandlers) crdChanged(before, after drift.Object) {
	crd := present(before, after)[0].(*apiextensionsv1.CustomResourceDefinition)
	if crd.Name == issuers.CertificatesCRD || crd.Name == operatorConditionsCRD {
		c.lookAtAllCSVs()
	}
	for _, csv := range c.caches.CSVs.By(informers.ByCRD, crd.Name) {
		c.queue.Add(queue.CSVKey(csv.Namespace, csv.Name))
	}
	c.groupServed(crd.Spec.Group)
	for _, v := range crd.Spec.Versions {
		c.apiChanged(schema.GroupVersion{Group: crd.Spec.Group, Version: v.Name})
	}
	for _, o := range present(before, after) {
		namespace, service := owners.ConvertedBy(o.(*apiextensionsv1.CustomResourceDefinition))
		if owned := c.caches.Services.Get(namespace, service); owned != nil {
			c.ownersChanged(nil, owned)
		}
	}
}

// foreignChanged is about what is watched on demand: what an operator says of its condition,
// and what issuers look after. For that its owner waits; for what is the administrator's,
// as an issuer itself is, anybody may.
func (c *eventHandlers) foreignChanged(before, after drift.Object) {
	changed := present(before, after)[0].(*unstructured.Unstructured)
	if changed.GetKind() == operatorConditionKind {
		c.conditionChanged(changed)
		return
	}
	if len(informers.OwnersOf(changed)) > 0 {
		c.ownersChanged(before, after)
	} else if changed.GetKind() != "ConfigMap" {
		c.lookAtAllCSVs()
	}
}

func (c *eventHandlers) lookAtAllCSVs() {
	for _, csv := range c.caches.CSVs.All() {
		c.queue.Add(queue.CSVKey(csv.Namespace, csv.Name))
	}
}

// groupChanged matters to the group itself. To its operators, to their rivals and to Namespaces only a
// change of what it covers or lists does, and not its status.
func (c *eventHandlers) groupChanged(before, after drift.Object) {
	group := present(before, after)[0].(*operatorsv1.OperatorGroup)
	c.lookAtGroupsOf(group.Namespace)
	if before != nil && after != nil && before.GetUID() == after.GetUID() && before.GetGeneration() == after.GetGeneration() &&
		before.GetDeletionTimestamp().IsZero() == after.GetDeletionTimestamp().IsZero() && maps.Equal(before.GetAnnotations(), after.GetAnnotations()) {
		return
	}
	c.lookAtCSVsOf(group.Namespace)
	c.versions.claimAll(group.Namespace)
	for _, o := range present(before, after) {
		c.lookAtTargets(o.(*operatorsv1.OperatorGroup))
	}
}

// lookAtTargets has the labels of the Namespaces checked that a group targets, or that bear its label.
func (c *eventHandlers) lookAtTargets(group *operatorsv1.OperatorGroup) {
	targets, err := scope.Targets(group, c.versions.namespacesFor(group))
	if err == nil {
		for _, name := range targets {
			c.queue.Add(queue.NamespaceKey(name))
		}
	}
	c.lookAtNamespacesWith(scope.LabelOf(group))
}

// lookAtNamespacesWith has the labels of the Namespaces checked that bear one.
func (c *eventHandlers) lookAtNamespacesWith(label string) {
	for _, namespace := range c.caches.Namespaces.By(informers.ByGroupLabel, label) {
		c.queue.Add(queue.NamespaceKey(namespace.Name))
	}
}

// namespaceChanged matters to the groups that target the Namespace, or did, and to
// whatever is in it when it comes or goes.
func (c *eventHandlers) namespaceChanged(before, after drift.Object) {
	if before != nil && after != nil && equality.Semantic.DeepEqual(before.GetLabels(), after.GetLabels()) &&
		before.GetDeletionTimestamp().IsZero() == after.GetDeletionTimestamp().IsZero() {
		return
	}
	name := present(before, after)[0].GetName()
	c.queue.Add(queue.NamespaceKey(name))
	c.lookAtCSVsOf(name)
	c.versions.claimAll(name)
	was, _ := before.(*corev1.Namespace)
	is, _ := after.(*corev1.Namespace)
	for _, o := range present(before, after) {
		for _, group := range c.versions.groupsOf(o.(*corev1.Namespace)) {
			if scope.Concerns(group, was, is) {
				c.scopes.Forget(group.Namespace)
				c.queue.Add(queue.GroupKey(group.Namespace, group.Name))
				c.lookAtCSVsOf(group.Namespace)
				c.versions.claimAll(group.Namespace)
			}
		}
	}
}

// accountChanged matters to ClusterServiceVersions that wait for a ServiceAccount or
// rely on one, and to the group that names it: only its coming, its going and its owners do.
func (c *eventHandlers) accountChanged(before, after drift.Object) {
	if before == nil || after == nil || !equality.Semantic.DeepEqual(before.GetOwnerReferences(), after.GetOwnerReferences()) {
		account := present(before, after)[0].(*corev1.ServiceAccount)
		for _, csv := range c.caches.CSVs.By(informers.BySubject, permissions.SubjectsOf(account.Namespace, account.Name)[0]) {
			c.queue.Add(queue.CSVKey(csv.Namespace, csv.Name))
		}
		for _, group := range c.caches.Groups.In(account.Namespace) {
			if group.Spec.ServiceAccountName == account.Name {
				c.queue.Add(queue.GroupKey(group.Namespace, group.Name))
			}
		}
	}
}

// apisChanged matters to the group that tells what a ClusterServiceVersion owns.
func (c *eventHandlers) apisChanged(before, after drift.Object) {
	if before == nil || after == nil || before.GetGeneration() != after.GetGeneration() || after.GetDeletionTimestamp() != nil || claimsAnew(before, after) {
		c.lookAtGroupsOf(present(before, after)[0].GetNamespace())
	}
}

func (c *eventHandlers) lookAtCSVsOf(namespace string) {
	for _, csv := range c.caches.CSVs.In(namespace) {
		c.queue.Add(queue.CSVKey(csv.Namespace, csv.Name))
	}
}

func (c *eventHandlers) lookAtGroupsOf(namespace string) {
	for _, group := range c.caches.Groups.In(namespace) {
		c.queue.Add(queue.GroupKey(group.Namespace, group.Name))
	}
}

func present(before, after drift.Object) []drift.Object {
	return slices.DeleteFunc([]drift.Object{after, before}, func(o drift.Object) bool { return o == nil })
}
