package rollout

import (
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// ensureGrant writes a Role, and its RoleBinding if it would grant the desired rules only: a Role of that name can
// belong to another client.
func (b *planBuilder) ensureGrant(role *rbacv1.Role, binding *rbacv1.RoleBinding, ensure func(desired, live drift.Object)) {
	ensure(role, lookUp(b.Observed.Roles, role.Name))
	if b.grants(role) {
		ensure(binding, lookUp(b.Observed.RoleBindings, binding.Name))
	}
}

func (b *planBuilder) grants(role *rbacv1.Role) bool {
	key, live := drift.KeyOf(role), b.Observed.Roles[role.Name]
	if b.writes(key) {
		return !b.Observed.Writes[key].RefusesAdmission()
	}
	return live != nil && b.Observed.Refused[key] == "" && equality.Semantic.DeepEqual(role.Rules, live.Rules)
}
