package rollout

import (
	"testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// A Role is bound only if its rules are the desired ones. Another client can own a Role of that name, or
// revert each repair of its rules.
func TestGrantsDesiredRulesOnly(t *testing.T) {
	const role, binding = "Role shop/manager-service-cert", "create RoleBinding shop/manager-service-cert"
	widen := func(c *cluster) { c.Observed.Roles["manager-service-cert"].Rules[0].ResourceNames = nil }
	contest := func(c *cluster) {
		for range 3 {
			c.Observed.Contests[role] = c.Observed.Contests[role].Repaired(drift.Drift{By: "adversary", Fields: []string{"rules"}}, c.now)
		}
		c.Observed.Roles["manager-service-cert"].ManagedFields = append(c.Observed.Roles["manager-service-cert"].ManagedFields, wrote("adversary", `{"f:rules":{}}`))
	}
	block := func(c *cluster) { obstacles["a requirement"].put(c) }
	refuse := func(c *cluster) {
		delete(c.Observed.Roles, "manager-service-cert")
		c.Observed.Refused[role] = "it belongs to another client"
	}
	for name, test := range map[string]struct {
		change func(*cluster)
		want   []string
	}{
		"the Role is as desired":                {func(*cluster) {}, []string{binding}},
		"the Role is repaired":                  {widen, []string{"apply " + role + ": rules", binding}},
		"the Role is missing":                   {func(c *cluster) { delete(c.Observed.Roles, "manager-service-cert") }, []string{"create " + role, binding}},
		"the Role belongs to another client":    {refuse, nil},
		"a client reverts each repair":          {func(c *cluster) { widen(c); contest(c) }, nil},
		"blocked, the Role is as desired":       {block, []string{binding}},
		"blocked, a client reverts each repair": {func(c *cluster) { block(c); widen(c); contest(c) }, nil},
		"blocked, it belongs to another client": {func(c *cluster) { block(c); refuse(c) }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			c := installed(t, webhookOf("manager"))
			delete(c.Observed.RoleBindings, "manager-service-cert")
			test.change(c)
			installtest.Same(t, "steps", test.want, stepsOf(c.next()))
		})
	}
}

// Admission that changes the rules of a Role changes what a binding grants that exists already.
func TestRevokedFromChangedRole(t *testing.T) {
	const role = "Role shop/manager-service-cert"
	changed := func(c *cluster) {
		desired := c.Observed.Roles["manager-service-cert"]
		live := desired.DeepCopy()
		live.Rules[0].ResourceNames = nil
		c.Observed.Roles["manager-service-cert"] = live
		c.Observed.Writes = map[string]drift.Write{role: drift.WriteOf(desired, live)}
	}
	revoked := "delete RoleBinding shop/manager-service-cert: rules of the role"
	for name, test := range map[string]struct {
		change func(*cluster)
		want   []string
	}{
		"the Role is repaired again": {changed, []string{"apply " + role + ": rules", revoked}},
		"another client owns the binding": {func(c *cluster) {
			changed(c)
			c.Observed.RoleBindings["manager-service-cert"].OwnerReferences = nil
		}, []string{"apply " + role + ": rules"}},
		"the rules are the desired ones again": {func(c *cluster) {
			desired := c.Observed.Roles["manager-service-cert"]
			changed(c)
			c.Observed.Roles["manager-service-cert"] = desired
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			c := installed(t, webhookOf("manager"))
			test.change(c)
			installtest.Same(t, "steps", test.want, stepsOf(c.next()))
		})
	}
}
