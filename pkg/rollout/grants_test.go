package rollout

import (
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// A Role is bound only with the desired rules. Another client can own a Role of that name, or revert each repair.
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
	change := func(c *cluster, change func(*rbacv1.Role)) (desired, live *rbacv1.Role) {
		desired = c.Observed.Roles["manager-service-cert"]
		live = desired.DeepCopy()
		change(live)
		c.Observed.Roles["manager-service-cert"] = live
		return desired, live
	}
	widen := func(r *rbacv1.Role) { r.Rules[0].ResourceNames = nil }
	admitted := func(c *cluster, changed func(*rbacv1.Role)) {
		c.Observed.Writes = map[string]drift.Write{role: drift.WriteOf(change(c, changed))}
	}
	const revoked = "delete RoleBinding shop/manager-service-cert: rules of the role"
	for name, test := range map[string]struct {
		change func(*cluster)
		want   []string
	}{
		"the Role is repaired again": {func(c *cluster) { admitted(c, widen) }, []string{"apply " + role + ": rules", revoked}},
		"another client owns the binding": {func(c *cluster) {
			admitted(c, widen)
			c.Observed.RoleBindings["manager-service-cert"].OwnerReferences = nil
		}, []string{"apply " + role + ": rules"}},
		"the rules are the desired ones again": {func(c *cluster) {
			desired := c.Observed.Roles["manager-service-cert"]
			admitted(c, widen)
			c.Observed.Roles["manager-service-cert"] = desired
		}, nil},
		"a label was changed": {func(c *cluster) {
			admitted(c, func(r *rbacv1.Role) { r.Labels["olm.owner"] = "other" })
		}, []string{"apply " + role + ": metadata.labels.olm.owner"}},
		"after a restart the repair is refused": {func(c *cluster) {
			change(c, widen)
			c.Observed.Writes, c.Observed.Refused[role] = nil, "denied"
		}, []string{revoked}},
		"after a restart the repair is not answered": {func(c *cluster) {
			change(c, widen)
			c.Observed.Writes, c.Observed.Refused[role], c.Observed.Unanswered = nil, "no answer", map[string]bool{role: true}
		}, nil},
		"after a restart an extension is refused": {func(c *cluster) {
			change(c, func(r *rbacv1.Role) { r.Rules = nil })
			c.Observed.Writes, c.Observed.Refused[role] = nil, "denied"
		}, nil},
		"another client changed the rules, and the repair is refused": {func(c *cluster) {
			_, live := change(c, widen)
			live.ManagedFields = append(live.ManagedFields, wrote("admin", `{"f:rules":{}}`))
			c.Observed.Writes, c.Observed.Refused[role] = nil, "denied"
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			c := installed(t, webhookOf("manager"))
			test.change(c)
			installtest.Same(t, "steps", test.want, stepsOf(c.next()))
		})
	}
}

// A RoleBinding that admission changed is deleted, and recreated within the limit of a contest.
func TestChangedBindingIsRevoked(t *testing.T) {
	for field, admit := range map[string]func(*rbacv1.RoleBinding){
		"subjects": func(b *rbacv1.RoleBinding) {
			b.Subjects = append(b.Subjects, rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: "tenant", Name: "adversary"})
		},
		"roleRef": func(b *rbacv1.RoleBinding) { b.RoleRef.Kind, b.RoleRef.Name = "ClusterRole", "admin" },
	} {
		t.Run(field, func(t *testing.T) {
			c := clusterWith(t, webhookOf("manager"))
			c.admit = func(o drift.Object) {
				if b, ok := o.(*rbacv1.RoleBinding); ok {
					admit(b)
				}
			}
			creations := 0
			for range 100 {
				plan := c.reconcileAdmission()
				creations += installtest.Count(plan.Steps, func(s Step) bool { return s.Key() == "RoleBinding shop/manager-service-cert" && s.Verb == Create })
				c.wait(500 * time.Millisecond)
			}
			installtest.Same(t, "creations", 3, creations)
			installtest.Same(t, "RoleBindings", 0, len(c.Observed.RoleBindings))
			installtest.Says(t, "the condition", "RoleBinding shop/manager-service-cert: admission keeps changing "+field, conditionOf(c.next(), "Contested"))
			c.admit = nil
			c.wait(10 * time.Minute)
			c.reconcileAdmission()
			installtest.Same(t, "RoleBindings after the webhook was removed", 1, len(c.Observed.RoleBindings))
		})
	}
}
