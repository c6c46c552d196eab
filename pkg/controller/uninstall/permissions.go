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

// eachDelegation calls for each binding for servers of APIServices among those that the API
// server selects.
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

// deleteDelegations takes the bindings for servers of APIServices away: they are outside of the
// Namespace, and no garbage collection does.
//
// It returns those that stay, because they belong to another owner.
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

// deletePermissions takes the permissions of a ClusterServiceVersion back that no garbage collection
// does: of the whole cluster and of namespaces, what came with its installation, and what was lifted.
func (u *Uninstaller) deletePermissions(ctx context.Context, csv *operatorsv1alpha1.ClusterServiceVersion, ownership owners.Ownership) error {
	return u.deleteSelected(ctx, csv, permissionsOf(csv), ownership)
}

// deleteLifted takes back only what was lifted: the operator goes on running with what its
// installer granted.
func (u *Uninstaller) deleteLifted(ctx context.Context, csv *operatorsv1alpha1.ClusterServiceVersion, ownership owners.Ownership) error {
	return u.deleteSelected(ctx, csv, liftedFor(csv), ownership)
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

// deleteSelected deletes, of the roles and bindings that the API server selects, those that belong to
// a ClusterServiceVersion, bindings first, and lists the others.
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

// isCollected tells whether a role or binding goes with its owner, or stays where that is deleted
// and what it owns is not; garbage collection may have taken the owner away already.
func isCollected(o drift.Object) bool {
	return csvspec.IsManaged(o) && !permissions.IsLifted(o) || len(o.GetOwnerReferences()) > 0
}

// inCluster are the bindings of the whole cluster that the API server selects, and the roles.
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

// inNamespaces are the same of all namespaces.
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
