package scope

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
)

func TestInstallerOf(t *testing.T) {
	const user = "system:serviceaccount:own:installer"
	for name, test := range map[string]struct {
		group        *operatorsv1.OperatorGroup
		account      *corev1.ServiceAccount
		impersonates bool
		user         string
		obstacle     string
	}{
		"no group":                 {impersonates: true},
		"a group without account":  {group: groupOf("og"), account: installer, impersonates: true},
		"a group with an account":  {group: groupOf("og", actingAs("installer")), account: installer, impersonates: true, user: user},
		"the account is not there": {groupOf("og", actingAs("installer")), nil, true, user, "ServiceAccount own/installer of OperatorGroup og does not exist: create it, or remove spec.serviceAccountName"},
		"without --with-olm":       {groupOf("og", actingAs("installer")), installer, false, user, "ServiceAccount own/installer of OperatorGroup og is used with --with-olm only: apply manifests/with-olm, or remove spec.serviceAccountName"},
	} {
		t.Run(name, func(t *testing.T) {
			i := InstallerOf(test.group, test.account, test.impersonates)
			if i.User() != test.user || i.IsManager() != (test.user == "") || i.Obstacle() != test.obstacle {
				t.Errorf("user %q, manager: %v, obstacle %q", i.User(), i.IsManager(), i.Obstacle())
			}
		})
	}
}
