package rollout

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/permissions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// ensureGrant writes a RoleBinding only if the Role, which may be another client's, has the desired rules. It deletes the
// RoleBinding if admission has changed what it grants.
func (b *planBuilder) ensureGrant(role *rbacv1.Role, binding *rbacv1.RoleBinding, ensure func(desired, live drift.Object)) {
	live := b.Observed.RoleBindings[binding.Name]
	ensure(role, lookUp(b.Observed.Roles, role.Name))
	switch {
	case live != nil && b.owns(live) && b.Observed.GrantChangedByAdmission(role, lookUp(b.Observed.Roles, role.Name)):
		b.add(Revocation(live, "rules of the role"))
	case b.grants(role):
		b.ensureBinding(binding, lookUp(b.Observed.RoleBindings, binding.Name), ensure)
	}
}

// ensureBinding deletes a binding that admission has changed. It is recreated as often as a contest allows.
func (b *planBuilder) ensureBinding(desired, live drift.Object, ensure func(desired, live drift.Object)) {
	if b.Observed.GrantChangedByAdmission(desired, live) {
		b.add(Revocation(live, "subjects", "roleRef"))
		return
	}
	ensure(desired, live)
}

// Revocation returns the deletion of a binding that grants what admission has changed.
func Revocation(binding drift.Object, changed ...string) Step {
	return Step{Verb: Delete, Object: binding, Live: binding, Drift: drift.Drift{By: drift.ByAdmission, Fields: changed}}
}

// GrantChangedByAdmission reports whether a role or a binding grants something else than desired, because admission changed
// what the manager wrote. API servers check that other clients have the permissions that they grant; admission grants with
// the permissions of the manager. After a restart, field ownership shows it for a role whose repair is refused.
func (o Observed) GrantChangedByAdmission(desired, live drift.Object) bool {
	if live == nil || permissions.GrantsSame(desired, live) {
		return false
	}
	key := drift.KeyOf(live)
	if o.Writes[key].Wrote(live) {
		return o.Writes[key].RefusesGrant()
	}
	return o.Refused[key] != "" && !o.Unanswered[key] && permissions.GrantsMore(live, desired) && drift.Of(desired, live).By == ""
}

func (b *planBuilder) grants(role *rbacv1.Role) bool {
	key, live := drift.KeyOf(role), b.Observed.Roles[role.Name]
	if b.writes(key) {
		return !b.Observed.Writes[key].RefusesGrant()
	}
	return live != nil && b.Observed.Refused[key] == "" && equality.Semantic.DeepEqual(role.Rules, live.Rules)
}

// isRebound reports whether another client has recreated a RoleBinding for another role. API servers refuse to change
// the role, so the binding is deleted, and the next reconciliation creates it. One that no version owns is reported.
func (b *planBuilder) isRebound(desired, live drift.Object) bool {
	want, ok := desired.(*rbacv1.RoleBinding)
	if !ok || live == nil {
		return false
	}
	have := live.(*rbacv1.RoleBinding)
	if equality.Semantic.DeepEqual(want.RoleRef, have.RoleRef) {
		return false
	}
	rebound := fmt.Sprintf("%s binds %s %s instead of %s %s", drift.KeyOf(have), have.RoleRef.Kind, have.RoleRef.Name, want.RoleRef.Kind, want.RoleRef.Name)
	switch {
	case !b.owns(have):
		b.refuse(drift.KeyOf(have), rebound+", and the ClusterServiceVersion does not own it: delete the RoleBinding")
	case have.DeletionTimestamp != nil:
		b.refuse(drift.KeyOf(have), rebound+", and finalizers keep it from being deleted: "+strings.Join(have.Finalizers, ", "))
	}
	b.add(Step{Verb: Delete, Object: have, Live: have, Drift: drift.Drift{Fields: []string{"roleRef"}}})
	return true
}

func (b *planBuilder) owns(binding *rbacv1.RoleBinding) bool {
	return slices.ContainsFunc(append([]*operatorsv1alpha1.ClusterServiceVersion{b.CSV}, b.Upgrade.From...), func(csv *operatorsv1alpha1.ClusterServiceVersion) bool {
		return csvspec.Owns(csv, binding)
	})
}

func (f *facts) refuse(key, why string) {
	refused := map[string]string{key: why}
	maps.Copy(refused, f.Observed.Refused)
	f.Observed.Refused = refused
}

// Lift keeps permissions of a previous version until this version replaces it.
func Lift(csv *operatorsv1alpha1.ClusterServiceVersion, desired, live []drift.Object, o Observed, u Upgrade, now time.Time) []Step {
	var steps []Step
	add := func(step Step) {
		if step, ok := o.unlessContested(step, now); ok {
			steps = append(steps, step)
		}
	}
	existing, needed := map[string]drift.Object{}, map[string]bool{}
	for _, l := range live {
		existing[drift.KeyOf(l)] = l
	}
	for _, w := range desired {
		key := drift.KeyOf(w)
		needed[key] = true
		if l := existing[key]; o.Refused[key] != "" || l != nil && !u.Started && !csvspec.HasOwnerLabels(l, csv) {
			continue
		}
		if step, ok := o.stepTo(w, existing[key]); ok {
			add(step)
		}
	}
	for _, l := range live {
		if !needed[drift.KeyOf(l)] && csvspec.HasOwnerLabels(l, csv) {
			add(Step{Verb: Delete, Object: l, Live: l})
		}
	}
	return steps
}
