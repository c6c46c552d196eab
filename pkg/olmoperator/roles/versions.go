package roles

import (
	"context"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/tools/cache"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmoperator/provider"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmoperator/roles/clusterrole"
)

// reconcileVersion writes the ClusterRoles of the APIs that a ClusterServiceVersion provides. They stay when it is
// deleted, for the users of the remaining objects: their owner is the definition or the APIService.
func (c *Controller) reconcileVersion(ctx context.Context, object cache.ObjectName) error {
	csv := c.caches.CSVs.Get(object.Namespace, object.Name)
	if csv == nil || !provider.HasProvided(csv) {
		c.versionProblems.Forget(object)
		return nil
	}
	desired, refused := c.rolesOfAPIs(csv)
	w := &writer{Controller: c, by: waiting{c.versions, object}}
	for _, role := range desired {
		w.write(ctx, role)
	}
	c.versionProblems.Report(object, csv, append(refused, w.problems...))
	return w.err()
}

func (c *Controller) rolesOfAPIs(csv *operatorsv1alpha1.ClusterServiceVersion) (desired []*rbacv1.ClusterRole, refused []string) {
	for _, d := range c.apis.Definitions(csv) {
		if d.Refused != "" {
			refused = append(refused, noRoles(d.Refused))
			continue
		}
		desired = append(desired, clusterrole.OfDefinition(d.CustomResourceDefinition, d.Version)...)
	}
	for _, s := range c.apis.APIServices(csv) {
		if s.Refused != "" {
			refused = append(refused, noRoles(s.Refused))
			continue
		}
		desired = append(desired, clusterrole.OfAPIService(s.APIService, s.Resource, s.Kind)...)
	}
	return desired, refused
}

func noRoles(cause string) string {
	return fmt.Sprintf("no ClusterRoles for users of %s. To grant users access, bind them to a ClusterRole of your own", cause)
}

// reconcileLeftover deletes a ClusterRole of a provided API whose definition or APIService is deleted. The garbage
// collector does not delete those of OLM v0, which misspells the kind of the owner.
func (c *Controller) reconcileLeftover(ctx context.Context, object cache.ObjectName) error {
	role := c.caches.ClusterRoles.Get("", object.Name)
	if role == nil {
		return nil
	}
	if owner, ok := clusterrole.OwnerOf(role); !ok || c.exists(owner) {
		return nil
	}
	return c.deleteRole(ctx, role)
}

func (c *Controller) exists(owner clusterrole.Owner) bool {
	if owner.APIService {
		service := c.caches.APIServices.Get("", owner.Name)
		return c.caches.Aggregation.Absent() || service != nil && string(service.UID) == owner.UID
	}
	crd := c.caches.CRDs.Get("", owner.Name)
	return crd != nil && string(crd.UID) == owner.UID
}
