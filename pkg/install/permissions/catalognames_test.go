package permissions

import (
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// The names that catalog-operator v0.46.0 gave to the ClusterRoles of the examples in test/olm.
func TestCatalogClusterRole(t *testing.T) {
	rule := func(group, resource string, verbs ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
	}
	for want, test := range map[string]struct {
		csv, namespace, account string
		rules                   []rbacv1.PolicyRule
	}{
		"volumelabels.v0.2.0-8RFFUI2HRvuPlLszzQrER9b9um24kCbjXrRghE": {
			"volumelabels.v0.2.0", "volumelabels", "volumelabels-controller", []rbacv1.PolicyRule{rule("", "persistentvolumes", "get", "list", "watch", "patch")},
		},
		"projectpolicy.v0.2.0-GMOWblRhNbpfPLcfPU3GoJHSDmRINRh43TF0J": {
			"projectpolicy.v0.2.0", "projectpolicy", "projectpolicy-webhook", []rbacv1.PolicyRule{
				rule("projectpolicy.example.com", "projectpolicies", "get", "list", "watch"), rule("projectpolicy.example.com", "projectpolicies/status", "update"),
			},
		},
	} {
		permission := operatorsv1alpha1.StrategyDeploymentPermissions{ServiceAccountName: test.account, Rules: test.rules}
		installtest.Same(t, "the name", want, CatalogClusterRole(test.csv, test.namespace, permission))
	}
}

func TestCatalogClusterRoleOfALongName(t *testing.T) {
	const csv = "an-operator-whose-name-fills-the-most-of-a-label.v1.0.0"
	name := CatalogClusterRole(csv, "shop", operatorsv1alpha1.StrategyDeploymentPermissions{ServiceAccountName: "account"})
	if len(name) != 63 {
		t.Errorf("%s has %d characters, want 63", name, len(name))
	}
}
