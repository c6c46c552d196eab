// Package watch maps the changes of objects to the keys to reconcile.
package watch

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/discovery"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/queue"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/records"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/versions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// Handlers adds the keys of the objects that a change affects to the queue.
type Handlers struct {
	Caches   *informers.Caches
	Queue    queue.Queue
	Scopes   *records.Scopes
	Served   discovery.APIServer
	Writes   *informers.Expectations
	Versions *versions.Reader
}

// conditionChanged matters to the version that says something in it, and to those that
// replace it.
func (h *Handlers) conditionChanged(condition drift.Object) {
	csv := h.Caches.CSVs.Get(condition.GetNamespace(), condition.GetName())
	if csv == nil {
		return
	}
	h.Queue.Add(queue.CSVKey(csv.Namespace, csv.Name))
	for _, newer := range h.Versions.LineageOf(csv).Newer {
		h.Queue.Add(queue.CSVKey(newer.Namespace, newer.Name))
	}
}

// Register maps every change to the keys that have to be looked at because of it.
func (h *Handlers) Register() error {
	for _, watched := range []struct {
		informers []cache.SharedIndexInformer
		changed   func(before, after drift.Object)
	}{
		{h.Caches.CSVs.Informers, h.VersionChanged},
		{h.Caches.CSVs.Informers, h.apisChanged},
		{h.Caches.CSVs.Informers, h.ClaimChanged},
		{h.Caches.Rollouts.Informers, h.ownersChanged},
		{h.Caches.Deployments.Informers, h.deploymentChanged},
		{h.Caches.Pods.Informers, h.ownersChanged},
		{h.Caches.Services.Informers, h.ownersChanged},
		{h.Caches.Slices.Informers, h.ownersChanged},
		{h.Caches.Secrets.Informers, h.ownersChanged},
		{h.Caches.Roles.Informers, h.ownersChanged},
		{h.Caches.RoleBindings.Informers, h.ownersChanged},
		{h.Caches.ClusterRoleBindings.Informers, h.ownersChanged},
		{h.Caches.ClusterRoles.Informers, h.ownersChanged},
		{h.Caches.Validating.Informers, h.registrationChanged},
		{h.Caches.Mutating.Informers, h.registrationChanged},
		{h.Caches.CRDs.Informers, h.crdChanged},
		{h.Caches.CRDs.Informers, h.servedChanged},
		{h.Caches.Groups.Informers, h.GroupChanged},
		{h.Caches.Subscriptions.Informers, h.SubscriptionChanged},
		{h.Caches.Namespaces.Informers, h.NamespaceChanged},
		{h.Caches.Accounts.Informers, h.accountChanged},
		{h.Caches.Roles.Informers, h.rulesChanged},
		{h.Caches.ClusterRoles.Informers, h.rulesChanged},
		{h.Caches.RoleBindings.Informers, h.grantChanged},
		{h.Caches.ClusterRoleBindings.Informers, h.grantChanged},
		{h.Caches.APIServices.Informers, h.apiServiceChanged},
		{h.Caches.APIServices.Informers, h.servedChanged},
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
func (h *Handlers) ownersChanged(before, after drift.Object) {
	h.enqueueOwners(queue.Regular, before, after)
}

// deploymentChanged also matters, when a Deployment is deleted, to others that name it and wait for it.
func (h *Handlers) deploymentChanged(before, after drift.Object) {
	h.ownersChanged(before, after)
	if after == nil {
		for _, csv := range h.Caches.CSVs.By(informers.ByDeployment, before.GetNamespace()+"/"+before.GetName()) {
			h.Versions.Enqueue(csv)
		}
	}
}

// enqueueOwners does so in a queue.Priority, or in the spare one what the manager has written itself.
func (h *Handlers) enqueueOwners(wanted queue.Priority, before, after drift.Object) {
	for _, o := range present(before, after) {
		for _, owner := range informers.OwnersOf(o) {
			for _, csv := range h.Caches.CSVs.OfOwner(owner) {
				k := queue.CSVKey(csv.Namespace, csv.Name)
				if after != nil && h.Writes.IsEcho(k, after) {
					h.Queue.AddWithPriority(k, queue.Low)
					continue
				}
				h.Queue.AddWithPriority(k, wanted)
			}
		}
	}
}

// registrationChanged also looks at the Namespaces: a label that no webhook selects
// by any more may go.
func (h *Handlers) registrationChanged(before, after drift.Object) {
	if render.IsCanary(present(before, after)[0]) {
		return // whoever sent it waits for it, and one that is left is found at the next look
	}
	if before == nil {
		h.ownersChanged(before, after)
		return
	}
	h.enqueueOwners(queue.Urgent, before, after) // somebody may have taken a webhook out of service
	still := map[string]bool{}
	if after != nil {
		still = informers.SelectedLabels(after)
	}
	for label := range informers.SelectedLabels(before) {
		if !still[label] {
			h.enqueueNamespacesWith(label)
		}
	}
}

// OnDemandChanged is about what is watched on demand: what an operator says of its condition,
// and what issuers look after. For that its owner waits; for what is the administrator's,
// as an issuer itself is, anybody may.
func (h *Handlers) OnDemandChanged(before, after drift.Object) {
	changed := present(before, after)[0].(*unstructured.Unstructured)
	if changed.GetKind() == owners.OperatorConditions.Name {
		h.conditionChanged(changed)
		return
	}
	if len(informers.OwnersOf(changed)) > 0 {
		h.ownersChanged(before, after)
	} else if changed.GetKind() != "ConfigMap" {
		h.enqueueAllCSVs()
	}
}

func (h *Handlers) enqueueAllCSVs() {
	for _, csv := range h.Caches.CSVs.All() {
		h.Queue.Add(queue.CSVKey(csv.Namespace, csv.Name))
	}
}

// enqueueNamespacesWith has the labels of the Namespaces checked that bear one.
func (h *Handlers) enqueueNamespacesWith(label string) {
	for _, namespace := range h.Caches.Namespaces.By(informers.ByGroupLabel, label) {
		h.Queue.Add(queue.NamespaceKey(namespace.Name))
	}
}

// EnqueueCSVsIn adds the ClusterServiceVersions of a namespace to the queue.
func (h *Handlers) EnqueueCSVsIn(namespace string) {
	for _, csv := range h.Caches.CSVs.In(namespace) {
		h.Queue.Add(queue.CSVKey(csv.Namespace, csv.Name))
	}
}

func (h *Handlers) enqueueGroupsIn(namespace string) {
	for _, group := range h.Caches.Groups.In(namespace) {
		h.Queue.Add(queue.GroupKey(group.Namespace, group.Name))
	}
}

func present(before, after drift.Object) []drift.Object {
	return slices.DeleteFunc([]drift.Object{after, before}, func(o drift.Object) bool { return o == nil })
}
