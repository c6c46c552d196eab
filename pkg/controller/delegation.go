package controller

import (
	"context"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/permissions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// observeDelegations finds the bindings for servers of APIServices among all that the
// ClusterServiceVersion has.
func (c *gatherer) observeDelegations(s *snapshot, owners []string) {
	s.Observed.AuthDelegators = byName(proven(s.Ownership, delegating(c.caches.ClusterRoleBindings.OfOwners(owners), true)))
	s.Observed.AuthReaders = byName(proven(s.Ownership, delegating(c.caches.RoleBindings.OfOwners(owners), true)))
}

func delegating[T drift.Object](objects []T, do bool) []T {
	return slices.DeleteFunc(objects, func(o T) bool { return permissions.Delegates(o) != do })
}

// eachDelegation calls for each binding for servers of APIServices among those that the API
// server selects.
func (c *uninstaller) eachDelegation(ctx context.Context, owned metav1.ListOptions, do func(drift.Object) error) error {
	delegators, err := c.Kube.RbacV1().ClusterRoleBindings().List(ctx, owned)
	if err != nil {
		return err
	}
	readers, err := c.Kube.RbacV1().RoleBindings(metav1.NamespaceSystem).List(ctx, owned)
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

// undelegate takes the bindings for servers of APIServices away: they are outside of the
// Namespace, and no garbage collection does.
//
// It returns those that stay, because they belong to another owner.
func (c *uninstaller) undelegate(ctx context.Context, owned metav1.ListOptions, ownership owners.Ownership) (left []drift.Object, err error) {
	err = c.eachDelegation(ctx, owned, func(binding drift.Object) error {
		if !ownership.Proves(binding) {
			left = append(left, binding)
			return nil
		}
		_, _, err := c.writer.write(ctx, binding.GetNamespace(), rollout.Step{Verb: rollout.Delete, Object: binding})
		return err
	})
	return left, err
}

// bequeathDelegations gives them to a version that serves APIServices, too. Those that it
// does not need it takes away itself.
func (c *uninstaller) bequeathDelegations(ctx context.Context, heir *operatorsv1alpha1.ClusterServiceVersion, backends owners.Backends, owned metav1.ListOptions, ownership owners.Ownership) error {
	if len(heir.Spec.APIServiceDefinitions.Owned) == 0 || !backends.ServesAny(heir) {
		return nil
	}
	return c.eachDelegation(ctx, owned, func(binding drift.Object) error {
		if !ownership.Proves(binding) {
			return nil
		}
		if reader, ok := binding.(*rbacv1.RoleBinding); ok {
			return relabel(ctx, c.Kube.RbacV1().RoleBindings(reader.Namespace), heir, reader)
		}
		return relabel(ctx, c.Kube.RbacV1().ClusterRoleBindings(), heir, binding.(*rbacv1.ClusterRoleBinding))
	})
}
