package controller

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/records"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/lineage"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// kept is something of which a definition may be the keeper.
type kept struct {
	kind     string
	resource schema.GroupVersionResource
	// of are those that belong to a ClusterServiceVersion.
	of func(c *gatherer, csv *operatorsv1alpha1.ClusterServiceVersion) []metav1.Object
}

// keepable are the kinds of what converts, and of what its pods need. Those that run go first.
var keepable = []kept{
	{"Deployment", appsv1.SchemeGroupVersion.WithResource("deployments"), ownedIn(func(c *informers.Caches) informers.Store[*appsv1.Deployment] { return c.Deployments })},
	{"Service", corev1.SchemeGroupVersion.WithResource("services"), ownedIn(func(c *informers.Caches) informers.Store[*corev1.Service] { return c.Services })},
	{"Secret", corev1.SchemeGroupVersion.WithResource("secrets"), ownedIn(func(c *informers.Caches) informers.Store[*corev1.Secret] { return c.Secrets })},
	{"RoleBinding", rbacv1.SchemeGroupVersion.WithResource("rolebindings"), ownedIn(func(c *informers.Caches) informers.Store[*rbacv1.RoleBinding] { return c.RoleBindings })},
	{"Role", rbacv1.SchemeGroupVersion.WithResource("roles"), ownedIn(func(c *informers.Caches) informers.Store[*rbacv1.Role] { return c.Roles })},
	{"ServiceAccount", corev1.SchemeGroupVersion.WithResource("serviceaccounts"), ownedIn(func(c *informers.Caches) informers.Store[*corev1.ServiceAccount] { return c.Accounts })},
	{operatorConditionKind, operatorConditions, func(c *gatherer, csv *operatorsv1alpha1.ClusterServiceVersion) []metav1.Object {
		if condition, err := c.operatorCondition(csv); err == nil && condition != nil {
			return []metav1.Object{condition}
		}
		return nil // looked at again when it is known
	}},
}

func ownedIn[T drift.Object](in func(*informers.Caches) informers.Store[T]) func(*gatherer, *operatorsv1alpha1.ClusterServiceVersion) []metav1.Object {
	return func(c *gatherer, csv *operatorsv1alpha1.ClusterServiceVersion) (all []metav1.Object) {
		for _, o := range in(c.caches).OfOwner(informers.OwnerID(csv.Namespace, csv.Name)) {
			if o.GetNamespace() == csv.Namespace {
				all = append(all, o)
			}
		}
		return all
	}
}

// keep gives what converts its keepers before anything is converted, and takes them from what
// does not convert any more. While versions stand side by side, the one that acts does it.
func (c *Controller) keep(ctx context.Context, s *snapshot) error {
	if len(s.Upgrade.From) > 0 && !s.Upgrade.Started {
		return nil
	}
	wanted := owners.DefinitionOwnersOf(s.CSV, s.Observed.Deployments, s.ServiceNames(s.CSV), s.Observed.CRDs)
	bindings := c.caches.RoleBindings.OfOwner(informers.OwnerID(s.CSV.Namespace, s.CSV.Name))
	for _, k := range keepable {
		for _, o := range k.of(c.gather, s.CSV) {
			owners, differ := wanted.Owners(k.kind, o, bindings)
			if !differ || c.keepersHeld(s, k, o, owners) {
				continue
			}
			if err := c.writer.setOwners(ctx, k, o, owners); err != nil {
				return err
			}
			c.contested.Wrote(keepersOf(k, o), keepersField(owners), c.now())
		}
	}
	return nil
}

// keepersHeld reports whether the owner references of an object are left for now to another client, which changes
// them back each time.
func (c *Controller) keepersHeld(s *snapshot, k kept, o metav1.Object, owners []metav1.OwnerReference) bool {
	object := keepersOf(k, o)
	held, _, _ := c.contested.Held(object, keepersField(owners), c.now())
	if len(held) == 0 {
		return false
	}
	s.Observed.Contests[object.Title] = c.contested.Of(object)
	return true
}

func keepersOf(k kept, o metav1.Object) records.FieldObject {
	return records.FieldObject{Title: "Owners of " + k.kind + " " + o.GetNamespace() + "/" + o.GetName(), UID: o.GetUID()}
}

// keepersField is the field with the owner references, as fieldContests compares it.
func keepersField(owners []metav1.OwnerReference) map[string]string {
	var uids []string
	for _, owner := range owners {
		uids = append(uids, string(owner.UID))
	}
	slices.Sort(uids)
	return map[string]string{"metadata.ownerReferences": strings.Join(uids, " ")}
}

// dismantle ends the keeping when a ClusterServiceVersion goes, or is orphaned. What is kept is asked
// of the API server: a cache that does not show it yet would leave it behind.
func (c *uninstaller) dismantle(ctx context.Context, csv *operatorsv1alpha1.ClusterServiceVersion, orphaned bool) error {
	for _, k := range keepable {
		list, err := c.Metadata.Resource(k.resource).Namespace(csv.Namespace).List(ctx, metav1.ListOptions{})
		if apierrors.IsNotFound(err) {
			continue // the cluster has no such kind
		}
		if err != nil {
			return err
		}
		for i := range list.Items {
			if err := c.fulfil(ctx, k, &list.Items[i], owners.CleanupOf(&list.Items[i], csv, orphaned)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *uninstaller) fulfil(ctx context.Context, k kept, o metav1.Object, fate owners.Cleanup) error {
	switch fate {
	case owners.Ignore:
		return nil
	case owners.Release:
		return c.writer.setOwners(ctx, k, o, owners.WithoutDefinitionOwners(o))
	default:
		err := c.Metadata.Resource(k.resource).Namespace(o.GetNamespace()).Delete(ctx, o.GetName(), metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(o.GetUID()))})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	}
}

// setOwners writes the owner references of an object, if it is still what was looked at. It
// does so under a name of its own: to the writer of the rest they are somebody else's.
func (c *writer) setOwners(ctx context.Context, k kept, o metav1.Object, owners []metav1.OwnerReference) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": o.GetUID(), "resourceVersion": o.GetResourceVersion(), "ownerReferences": owners,
	}})
	if err != nil {
		return err
	}
	_, err = c.Metadata.Resource(k.resource).Namespace(o.GetNamespace()).Patch(ctx, o.GetName(), types.MergePatchType, patch, metav1.PatchOptions{FieldManager: wellknown.FieldManagerOwnerReferences})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// keeps tells whether anything may be kept for a ClusterServiceVersion that no version of the
// operator is to take over.
func (c *Controller) keeps(csv *operatorsv1alpha1.ClusterServiceVersion, relatives lineage.Lineage) bool {
	// A newer version that has begun may not have taken over the Deployment yet.
	if !relatives.Superseded() && slices.ContainsFunc(relatives.Newer, func(newer *operatorsv1alpha1.ClusterServiceVersion) bool {
		return newer.DeletionTimestamp == nil && owners.ConvertsLike(newer, csv)
	}) {
		return false
	}
	for _, k := range keepable {
		if slices.ContainsFunc(k.of(c.gather, csv), owners.HasDefinitionOwner) {
			return true
		}
	}
	return owners.HasConversions(csv)
}

// orphaned tells whether what a ClusterServiceVersion owned is to stay, as the API server knows it now.
func (c *uninstaller) orphaned(ctx context.Context, csv *operatorsv1alpha1.ClusterServiceVersion) (bool, error) {
	record, err := c.OLM.ManagerV1alpha1().WebhookRollouts(csv.Namespace).Get(ctx, csv.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		record, err = nil, nil
	}
	return err == nil && owners.OrphansDependents(csv, record), err
}
