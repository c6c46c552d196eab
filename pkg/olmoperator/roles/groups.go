package roles

import (
	"context"

	"k8s.io/client-go/tools/cache"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/versions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmoperator/roles/clusterrole"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
)

func (c *Controller) reconcileGroup(ctx context.Context, object cache.ObjectName) error {
	group := c.caches.Groups.Get(object.Namespace, object.Name)
	if group == nil {
		c.groupProblems.Forget(object)
		return c.deleteRolesOf(ctx, object)
	}
	w := &writer{Controller: c, by: waiting{c.groups, object}, owner: group.UID}
	for _, desired := range clusterrole.OfGroup(group.Namespace, group.Name, c.apisOf(group)) {
		w.write(ctx, desired)
	}
	c.groupProblems.Report(object, group, w.problems)
	return w.err()
}

// apisOf returns the APIs of the operators in the namespace of a group, or the list of the administrator.
func (c *Controller) apisOf(group *operatorsv1.OperatorGroup) []string {
	if group.Spec.StaticProvidedAPIs {
		return scope.AnnotatedAPIs(group)
	}
	return scope.ProvidedBy(lists.Map(c.caches.CSVs.In(group.Namespace), func(csv *operatorsv1alpha1.ClusterServiceVersion) scope.Claimant {
		return scope.Claimant{CSV: csv, Kinds: versions.KindsOwned(c.caches, csv)}
	}))
}

func (c *Controller) deleteRolesOf(ctx context.Context, group cache.ObjectName) error {
	for _, role := range c.caches.ClusterRoles.By(byGroup, group.String()) {
		if err := c.deleteRole(ctx, role); err != nil {
			return err
		}
	}
	return nil
}
