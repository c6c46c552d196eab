package uninstall

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/live"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/permissions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// eachDelegation calls do for each selected binding for servers of APIServices.
func (u *Uninstaller) eachDelegation(ctx context.Context, owned metav1.ListOptions, do func(drift.Object) error) error {
	delegators, err := u.Kube.RbacV1().ClusterRoleBindings().List(ctx, owned)
	if err != nil {
		return err
	}
	readers, err := u.Kube.RbacV1().RoleBindings(metav1.NamespaceSystem).List(ctx, owned)
	if err != nil {
		return err
	}
	for _, binding := range append(objects(delegators.Items), objects(readers.Items)...) {
		if !permissions.Delegates(binding) {
			continue
		}
		if err := do(binding); err != nil {
			return err
		}
	}
	return nil
}

// deleteDelegations deletes the bindings for servers of APIServices: they are outside of the
// Namespace, and garbage collection does not delete them. It returns the bindings of other owners,
// which stay.
func (u *Uninstaller) deleteDelegations(ctx context.Context, owned metav1.ListOptions, ownership owners.Ownership) (left []drift.Object, err error) {
	err = u.eachDelegation(ctx, owned, func(binding drift.Object) error {
		if !ownership.Proves(binding) {
			left = append(left, binding)
			return nil
		}
		_, _, err := u.Writer.Send(ctx, binding.GetNamespace(), rollout.Step{Verb: rollout.Delete, Object: binding})
		return err
	})
	return left, err
}

// deletePermissions deletes the permissions of a ClusterServiceVersion that garbage collection does
// not delete: of the cluster and of namespaces, from its installation, and lifted ones.
func (u *Uninstaller) deletePermissions(ctx context.Context, csv *operatorsv1alpha1.ClusterServiceVersion, ownership owners.Ownership) error {
	return u.deleteSelected(ctx, csv, permissionsOf(csv), ownership)
}

// deleteLifted deletes only lifted permissions: the operator continues to run with the permissions
// of its installer.
func (u *Uninstaller) deleteLifted(ctx context.Context, csv *operatorsv1alpha1.ClusterServiceVersion, ownership owners.Ownership) error {
	return u.deleteSelected(ctx, csv, liftedFor(csv), ownership)
}

// permissionsOf selects all roles and bindings with the labels of a ClusterServiceVersion.
func permissionsOf(csv *operatorsv1alpha1.ClusterServiceVersion) metav1.ListOptions {
	owner := csvspec.OwnerLabels(csv)
	delete(owner, wellknown.LabelManaged)
	return metav1.ListOptions{LabelSelector: labels.SelectorFromSet(owner).String()}
}

// liftedFor selects the lifted ones of them.
func liftedFor(csv *operatorsv1alpha1.ClusterServiceVersion) metav1.ListOptions {
	lifted := permissionsOf(csv)
	lifted.LabelSelector += "," + wellknown.LabelGrantedPermissions
	return lifted
}

// deleteSelected deletes the selected roles and bindings that belong to a ClusterServiceVersion,
// bindings first, and reports the others.
func (u *Uninstaller) deleteSelected(ctx context.Context, csv *operatorsv1alpha1.ClusterServiceVersion, which metav1.ListOptions, ownership owners.Ownership) error {
	cluster, err := u.inCluster(ctx, which)
	if err != nil {
		return err
	}
	namespaces, err := u.inNamespaces(ctx, which)
	if err != nil {
		return err
	}
	granted := slices.DeleteFunc(append(cluster, slices.DeleteFunc(namespaces, isCollected)...), func(o drift.Object) bool { return permissions.Delegates(o) }) // see undelegate
	for _, o := range owners.Proven(ownership, granted) {
		if _, _, err := u.Writer.Send(ctx, o.GetNamespace(), rollout.Step{Verb: rollout.Delete, Object: o}); err != nil {
			return err
		}
	}
	u.reportLeft(csv, live.Unproven(ownership, granted))
	return nil
}

// isCollected reports whether garbage collection deletes a role or binding with its owner, or keeps
// it if the owner is orphaned. Garbage collection may already have removed the owner reference.
func isCollected(o drift.Object) bool {
	return csvspec.IsManaged(o) && !permissions.IsLifted(o) || len(o.GetOwnerReferences()) > 0
}

// inCluster returns the selected ClusterRoleBindings and ClusterRoles, in this order.
func (u *Uninstaller) inCluster(ctx context.Context, which metav1.ListOptions) ([]drift.Object, error) {
	bindings, err := u.Kube.RbacV1().ClusterRoleBindings().List(ctx, which)
	if err != nil {
		return nil, err
	}
	roles, err := u.Kube.RbacV1().ClusterRoles().List(ctx, which)
	if err != nil {
		return nil, err
	}
	return append(objects(bindings.Items), objects(roles.Items)...), nil
}

// inNamespaces returns the selected RoleBindings and Roles of all namespaces, in this order.
func (u *Uninstaller) inNamespaces(ctx context.Context, which metav1.ListOptions) ([]drift.Object, error) {
	bindings, err := u.Kube.RbacV1().RoleBindings(metav1.NamespaceAll).List(ctx, which)
	if err != nil {
		return nil, err
	}
	roles, err := u.Kube.RbacV1().Roles(metav1.NamespaceAll).List(ctx, which)
	if err != nil {
		return nil, err
	}
	return append(objects(bindings.Items), objects(roles.Items)...), nil
}

// objects returns the items of a list.
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
