package permissions

import (
	"os"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/component-helpers/auth/rbac/validation"
	"sigs.k8s.io/yaml"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// manifestRules returns the rules of the roles in a manifest of the manager.
func manifestRules(t *testing.T, file string) (rules []rbacv1.PolicyRule) {
	t.Helper()
	text := installtest.OrPanic(os.ReadFile("../../../manifests/" + file))
	for _, document := range strings.Split(string(text), "\n---\n") {
		var role rbacv1.ClusterRole
		installtest.Must(t, yaml.Unmarshal([]byte(document), &role))
		rules = append(rules, role.Rules...)
	}
	if len(rules) == 0 {
		t.Fatalf("%s has no rules", file)
	}
	return rules
}

// The tests of a cluster measure which permissions of manifests/manager are used. They hold for manifests/limited
// as long as it has the same permissions, except for the list of all kinds.
func TestLimitedPermissions(t *testing.T) {
	manager := manifestRules(t, "manager/clusterrole.yaml")
	var limited []rbacv1.PolicyRule
	for _, file := range []string{"limited/clusterrole.yaml", "limited/apiservers.yaml", "limited/authreader.yaml", "limited/namespace/role.yaml"} {
		rules := manifestRules(t, file)
		if covered, more := validation.Covers(manager, rules); !covered {
			t.Errorf("manifests/%s grants what manifests/manager does not: %v", file, more)
		}
		limited = append(limited, rules...)
	}
	limited = append(limited, rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"list"}})
	if covered, less := validation.Covers(limited, manager); !covered {
		t.Errorf("manifests/limited does not grant, in any of its roles: %v", less)
	}
}
