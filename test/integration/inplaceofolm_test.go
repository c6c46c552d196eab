package integration

import (
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/tools/record"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/clients"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmoperator"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmoperator/operators"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmoperator/roles"
)

// newEnvInPlaceOfOLM is newOperatorEnv for a manager that does what olm-operator does. It writes cluster-scoped
// objects for all namespaces, so no other test may run at the same time.
func newEnvInPlaceOfOLM(t *testing.T) *env {
	t.Helper()
	return operating(newEnv(t), allNamespaces)
}

// manageInPlaceOfOLM runs a manager with the flag --with-olm and the permissions of manifests/with-olm.
func manageInPlaceOfOLM(e *env) *manager {
	e.Helper()
	config := grantedTo(e, "manager/clusterrole.yaml", "lift-roles/clusterrole.yaml", "with-olm/clusterrole.yaml")
	return manageWith(e, config, inPlaceOfOLM, func(o *controller.Options) { o.LiftRoles, o.WithOLM = true, true })
}

func inPlaceOfOLM(set clients.Set, caches *informers.Caches, events record.EventRecorder) olmoperator.Controllers {
	return olmoperator.Controllers{
		operators.New(set, caches, events, logger()),
		roles.New(set.Kube, caches, events, logger()),
	}
}

// claiming returns a ClusterServiceVersion that claims to own versions of definitions of the kind Thing.
func claiming(c *operatorsv1alpha1.ClusterServiceVersion, version string, definitions ...string) *operatorsv1alpha1.ClusterServiceVersion {
	for _, name := range definitions {
		c.Spec.CustomResourceDefinitions.Owned = append(c.Spec.CustomResourceDefinitions.Owned, operatorsv1alpha1.CRDDescription{Name: name, Version: version, Kind: "Thing"})
	}
	return c
}

func policyRule(group, resource string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
}
