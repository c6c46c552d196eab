package controller

import (
	"context"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/permissions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// revoke takes the permissions of a ClusterServiceVersion back that no garbage collection
// does: of the whole cluster and of namespaces, what came with its installation, and what was lifted.
func (c *uninstaller) revoke(ctx context.Context, csv *operatorsv1alpha1.ClusterServiceVersion, ownership owners.Ownership) error {
	return c.revokeSelected(ctx, csv, permissionsOf(csv), ownership)
}

// bequeathPermissions gives what was lifted to the version that goes on in the place of one
// that is on its way out: its pods keep their permissions all the while. What it does not
// need it takes away itself.
func (c *uninstaller) bequeathPermissions(ctx context.Context, csv, heir *operatorsv1alpha1.ClusterServiceVersion, ownership owners.Ownership) error {
	if !c.LiftRoles || heir == nil {
		return nil
	}
	cluster, err := c.inCluster(ctx, liftedFor(csv))
	if err != nil {
		return err
	}
	namespaces, err := c.inNamespaces(ctx, liftedFor(csv))
	if err != nil {
		return err
	}
	for _, o := range proven(ownership, append(cluster, namespaces...)) {
		given := o.GetLabels()
		maps.Copy(given, csvspec.OwnerLabels(heir))
		o.SetLabels(given)
		if _, _, err := c.writer.write(ctx, csv.Namespace, rollout.Step{Verb: rollout.Update, Object: o}); err != nil {
			return err
		}
	}
	return nil
}

// unlift takes back only what was lifted: the operator goes on running with what its
// installer granted.
func (c *uninstaller) unlift(ctx context.Context, csv *operatorsv1alpha1.ClusterServiceVersion, ownership owners.Ownership) error {
	return c.revokeSelected(ctx, csv, liftedFor(csv), ownership)
}

// permissionsOf are all roles and bindings that are labelled as a ClusterServiceVersion's.
func permissionsOf(csv *operatorsv1alpha1.ClusterServiceVersion) metav1.ListOptions {
	owner := csvspec.OwnerLabels(csv)
	delete(owner, wellknown.LabelManaged)
	return metav1.ListOptions{LabelSelector: labels.SelectorFromSet(owner).String()}
}

// liftedFor are those of them that were lifted.
func liftedFor(csv *operatorsv1alpha1.ClusterServiceVersion) metav1.ListOptions {
	lifted := permissionsOf(csv)
	lifted.LabelSelector += "," + wellknown.LabelGrantedPermissions
	return lifted
}

// revokeSelected deletes, of the roles and bindings that the API server selects, those that belong to
// a ClusterServiceVersion, bindings first, and lists the others.
func (c *uninstaller) revokeSelected(ctx context.Context, csv *operatorsv1alpha1.ClusterServiceVersion, which metav1.ListOptions, ownership owners.Ownership) error {
	cluster, err := c.inCluster(ctx, which)
	if err != nil {
		return err
	}
	namespaces, err := c.inNamespaces(ctx, which)
	if err != nil {
		return err
	}
	granted := slices.DeleteFunc(append(cluster, slices.DeleteFunc(namespaces, hasOwner)...), func(o drift.Object) bool { return permissions.Delegates(o) }) // see undelegate
	for _, o := range proven(ownership, granted) {
		if _, _, err := c.writer.write(ctx, o.GetNamespace(), rollout.Step{Verb: rollout.Delete, Object: o}); err != nil {
			return err
		}
	}
	c.reportLeft(csv, unproven(ownership, granted))
	return nil
}

// hasOwner tells whether a role or binding goes with its owner, or stays where that is deleted
// and what it owns is not; garbage collection may have taken the owner away already.
func hasOwner(o drift.Object) bool {
	return csvspec.IsManaged(o) && !permissions.IsLifted(o) || len(o.GetOwnerReferences()) > 0
}

// inCluster are the bindings of the whole cluster that the API server selects, and the roles.
func (c *uninstaller) inCluster(ctx context.Context, which metav1.ListOptions) ([]drift.Object, error) {
	bindings, err := c.Kube.RbacV1().ClusterRoleBindings().List(ctx, which)
	if err != nil {
		return nil, err
	}
	roles, err := c.Kube.RbacV1().ClusterRoles().List(ctx, which)
	if err != nil {
		return nil, err
	}
	return append(objects(bindings.Items), objects(roles.Items)...), nil
}

// inNamespaces are the same of all namespaces.
func (c *uninstaller) inNamespaces(ctx context.Context, which metav1.ListOptions) ([]drift.Object, error) {
	bindings, err := c.Kube.RbacV1().RoleBindings(metav1.NamespaceAll).List(ctx, which)
	if err != nil {
		return nil, err
	}
	roles, err := c.Kube.RbacV1().Roles(metav1.NamespaceAll).List(ctx, which)
	if err != nil {
		return nil, err
	}
	return append(objects(bindings.Items), objects(roles.Items)...), nil
}

// objects are the items of a list.
func objects[T any, P interface {
	*T
	drift.Object
}](items []T) []drift.Object {
	var all []drift.Object
	for i := range items {
		all = append(all, P(&items[i]))
	}
	return all
}
