// Package watch maps the changes of objects to the keys to reconcile.
package watch

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/groupkind"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/discovery"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/queue"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/records"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/versions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/permissions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/subscriptions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/phase"
)

// Handlers adds the keys of the objects that a change affects to the queue.
type Handlers struct {
	Caches   *informers.Caches
	Queue    queue.Queue
	Scopes   *records.Scopes
	Served   discovery.APIServer
	Writes   *informers.Expectations
	Versions *versions.Index

	SubscriptionReads *records.SubscriptionReads
	Now               func() time.Time
}

// conditionChanged enqueues the version of an OperatorCondition and the versions that replace it.
func (h *Handlers) conditionChanged(condition drift.Object) {
	csv := h.Caches.CSVs.Get(condition.GetNamespace(), condition.GetName())
	if csv == nil {
		return
	}
	h.Versions.Enqueue(csv)
	h.Versions.Enqueue(h.Versions.LineageOf(csv).Newer...)
}

// Register registers the handlers that map every change to the affected keys.
func (h *Handlers) Register() error {
	for _, watched := range []struct {
		informers []cache.SharedIndexInformer
		changed   func(before, after drift.Object)
	}{
		{h.Caches.CSVs.Informers, h.versionCached},
		{h.Caches.CSVs.Informers, h.VersionChanged},
		{h.Caches.CSVs.Informers, h.apisChanged},
		{h.Caches.CSVs.Informers, h.ClaimChanged},
		{h.Caches.CSVs.Informers, h.hidden},
		{h.Caches.Copies.Informers, h.copyChanged},
		{h.Caches.Rollouts.Informers, h.ownersChanged},
		{h.Caches.Deployments.Informers, h.deploymentChanged},
		{h.Caches.Pods.Informers, h.ownersChanged},
		{h.Caches.Services.Informers, h.ownersChanged},
		{h.Caches.Slices.Informers, h.ownersChanged},
		{h.Caches.Secrets.Informers, h.ownersChanged},
		{h.Caches.Budgets.Informers, h.budgetChanged},
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
		{h.Caches.Plans.Informers, h.planChanged},
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

func (h *Handlers) ownersChanged(before, after drift.Object) {
	h.enqueueOwners(queue.Regular, before, after)
}

// ownersOf returns owner IDs. An EndpointSlice has those of its Service: it inherits the labels, and those of a Service that
// olm-operator made name no owner.
func (h *Handlers) ownersOf(o drift.Object) []string {
	if slice, ok := o.(*discoveryv1.EndpointSlice); ok {
		if service := h.Caches.Services.Get(slice.Namespace, slice.Labels[discoveryv1.LabelServiceName]); service != nil {
			return informers.OwnersOf(service)
		}
	}
	return informers.OwnersOf(o)
}

// AdoptedPodChanged enqueues the ClusterServiceVersions with an order about a takeover whose Deployments select the pod.
func (h *Handlers) AdoptedPodChanged(before, after drift.Object) {
	pod := present(before, after)[0]
	for _, csv := range h.Caches.CSVs.In(pod.GetNamespace()) {
		if csvspec.TakeoverOrder(csv) != "" && len(csvspec.DeploymentsSelecting(csv, pod.GetLabels())) > 0 {
			h.enqueueOwner(queue.Regular, csv, after)
		}
	}
}

// Other ClusterServiceVersions may wait for the name of a deleted Deployment.
func (h *Handlers) deploymentChanged(before, after drift.Object) {
	h.ownersChanged(before, after)
	if after == nil {
		h.Versions.Enqueue(h.Caches.CSVs.By(informers.ByDeployment, before.GetNamespace()+"/"+before.GetName())...)
	}
}

// enqueueOwners gives changes that the manager wrote itself the low priority.
func (h *Handlers) enqueueOwners(priority queue.Priority, before, after drift.Object) {
	for _, o := range present(before, after) {
		for _, owner := range h.ownersOf(o) {
			for _, csv := range h.Caches.CSVs.OfOwner(owner) {
				h.enqueueOwner(priority, csv, after)
				if !phase.IsReplaced(csv.Status.Phase) {
					continue
				}
				for _, newer := range h.Versions.LineageOf(csv).Newer { // it maintains what it has not adopted yet
					h.enqueueOwner(priority, newer, after)
				}
			}
		}
	}
}

func (h *Handlers) enqueueOwner(priority queue.Priority, csv *operatorsv1alpha1.ClusterServiceVersion, after drift.Object) {
	k := queue.CSVKey(csv.Namespace, csv.Name)
	if after != nil && h.Writes.IsEcho(k, after) {
		priority = queue.Low
	}
	h.Queue.AddWithPriority(k, priority)
}

// A label that no webhook selects by any more may be removed from Namespaces.
func (h *Handlers) registrationChanged(before, after drift.Object) {
	if render.IsCanary(present(before, after)[0]) {
		return // its sender waits for it; a remaining one is deleted by the next reconciliation
	}
	if before == nil {
		h.ownersChanged(before, after)
		return
	}
	h.enqueueOwners(queue.Urgent, before, after) // another client may have unregistered a webhook
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

// OnDemandChanged handles OperatorConditions, the proxy of the cluster and objects of issuers.
func (h *Handlers) OnDemandChanged(before, after drift.Object) {
	changed := present(before, after)[0].(*unstructured.Unstructured)
	if groupkind.Is(changed, owners.OperatorConditions.GroupKind()) {
		h.conditionChanged(changed)
		return
	}
	if groupkind.Is(changed, subscriptions.ProxyKind) {
		h.Versions.Enqueue(h.Caches.CSVs.All()...) // the pods of all operators have its variables
		return
	}
	h.ownersChanged(before, after)
	for _, s := range h.Caches.Subscriptions.By(informers.ByIssuer, drift.KeyOf(changed)) {
		h.enqueueSubscribed(s)
	}
}

func (h *Handlers) enqueueNamespacesWith(label string) {
	for _, namespace := range h.Caches.Namespaces.By(informers.ByGroupLabel, label) {
		h.Queue.Add(queue.NamespaceKey(namespace.Name))
	}
}

// EnqueueCSVsIn adds the ClusterServiceVersions of a namespace to the queue.
func (h *Handlers) EnqueueCSVsIn(namespace string) {
	h.Versions.Enqueue(h.Caches.CSVs.In(namespace)...)
}

func (h *Handlers) enqueueGroupsIn(namespace string) {
	for _, group := range h.Caches.Groups.In(namespace) {
		h.Queue.Add(queue.GroupKey(group.Namespace, group.Name))
	}
}

func present(before, after drift.Object) []drift.Object {
	return slices.DeleteFunc([]drift.Object{after, before}, func(o drift.Object) bool { return o == nil })
}

// planChanged enqueues the ClusterServiceVersions whose Roles an InstallPlan lists.
func (h *Handlers) planChanged(before, after drift.Object) {
	for _, o := range present(before, after) {
		for _, name := range permissions.PlannedFor(o.(*operatorsv1alpha1.InstallPlan)) {
			h.Versions.Enqueue(h.Caches.CSVs.OfOwner(informers.OwnerID(o.GetNamespace(), name))...)
		}
	}
}

func (h *Handlers) grantChanged(before, after drift.Object) {
	for _, binding := range present(before, after) {
		for _, subject := range informers.SubjectsOf(binding) {
			h.Versions.Enqueue(h.Caches.CSVs.By(informers.BySubject, subject)...)
			for _, group := range h.Caches.Groups.By(informers.BySubject, subject) {
				h.EnqueueCSVsIn(group.Namespace) // its account may have gained a permission
			}
		}
	}
}

func (h *Handlers) rulesChanged(before, after drift.Object) {
	role := drift.KeyOf(present(before, after)[0])
	for _, binding := range h.Caches.RoleBindings.By(informers.ByRole, role) {
		h.grantChanged(nil, binding)
	}
	for _, binding := range h.Caches.ClusterRoleBindings.By(informers.ByRole, role) {
		h.grantChanged(nil, binding)
	}
}

// accountChanged ignores updates that do not change the owners.
func (h *Handlers) accountChanged(before, after drift.Object) {
	if before == nil || after == nil || !equality.Semantic.DeepEqual(before.GetOwnerReferences(), after.GetOwnerReferences()) {
		account := present(before, after)[0].(*corev1.ServiceAccount)
		h.Versions.Enqueue(h.Caches.CSVs.By(informers.BySubject, permissions.SubjectsOf(account.Namespace, account.Name)[0])...)
		for _, group := range h.Caches.Groups.In(account.Namespace) {
			if group.Spec.ServiceAccountName == account.Name {
				h.Queue.Add(queue.GroupKey(group.Namespace, group.Name))
				h.EnqueueCSVsIn(group.Namespace)
			}
		}
	}
}
