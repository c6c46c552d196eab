package roles

import (
	"context"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/tools/cache"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmoperator/provider"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmoperator/roles/clusterrole"
)

// reconcileVersion writes the ClusterRoles of the APIs that a ClusterServiceVersion provides. They stay when it is
// deleted, for the users of the remaining objects: their owner is the definition or the APIService.
func (c *Controller) reconcileVersion(ctx context.Context, object cache.ObjectName) error {
	csv := c.caches.CSVs.Get(object.Namespace, object.Name)
	if csv == nil || csvspec.IsGivenBack(csv) || !provider.HasProvided(csv) {
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
