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
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// delegations are outside of the Namespace, and garbage collection does not delete them.
func (u *Uninstaller) delegations(ctx context.Context, owned metav1.ListOptions) ([]drift.Object, error) {
	delegators, err := u.Kube.RbacV1().ClusterRoleBindings().List(ctx, owned)
	if err != nil {
		return nil, err
	}
	readers, err := u.Kube.RbacV1().RoleBindings(metav1.NamespaceSystem).List(ctx, owned)
	if err != nil {
		return nil, err
	}
	bindings := append(drift.Objects(live.Pointers(delegators.Items)), drift.Objects(live.Pointers(readers.Items))...)
	return slices.DeleteFunc(bindings, func(o drift.Object) bool { return !permissions.Delegates(o) }), nil
}

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

// deletePermissions deletes bindings first, and reports objects of others. Garbage collection deletes the rest.
func (u *Uninstaller) deletePermissions(ctx context.Context, csv *operatorsv1alpha1.ClusterServiceVersion, which metav1.ListOptions, ownership owners.Ownership) error {
	granted, err := u.permissions(ctx, which)
	if err != nil {
		return err
	}
	granted = slices.DeleteFunc(granted, func(o drift.Object) bool { return isCollected(o) || permissions.Delegates(o) })
	return u.deleteProven(ctx, csv, granted, ownership)
}

// Garbage collection may already have removed the owner reference.
func isCollected(o drift.Object) bool {
	return o.GetNamespace() != "" && (csvspec.IsManaged(o) && !permissions.IsLifted(o) || len(o.GetOwnerReferences()) > 0)
}

// permissions returns those of the cluster, then those of namespaces, bindings first.
func (u *Uninstaller) permissions(ctx context.Context, which metav1.ListOptions) ([]drift.Object, error) {
	clusterRoleBindings, err := u.Kube.RbacV1().ClusterRoleBindings().List(ctx, which)
	if err != nil {
		return nil, err
	}
	clusterRoles, err := u.Kube.RbacV1().ClusterRoles().List(ctx, which)
	if err != nil {
		return nil, err
	}
	bindings, err := u.Kube.RbacV1().RoleBindings(metav1.NamespaceAll).List(ctx, which)
	if err != nil {
		return nil, err
	}
	roles, err := u.Kube.RbacV1().Roles(metav1.NamespaceAll).List(ctx, which)
	if err != nil {
		return nil, err
	}
	return slices.Concat(
		drift.Objects(live.Pointers(clusterRoleBindings.Items)), drift.Objects(live.Pointers(clusterRoles.Items)),
		drift.Objects(live.Pointers(bindings.Items)), drift.Objects(live.Pointers(roles.Items)),
	), nil
}
