package decide

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/permissions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

func (d *decision) liftsRoles() bool {
	return d.Settings.LiftRoles && d.Failure == nil && d.verdict.Invalid() == "" && d.verdict.Conflict == "" && !d.Deleting
}

// liftSteps returns the writes of lifted permissions. Bindings follow when their roles exist.
func (d *decision) liftSteps() []rollout.Step {
	if !d.liftsRoles() {
		return nil
	}
	desired := permissions.Lift(d.Grants)
	var roles, others []rollout.Step
	objects := lists.Map(desired, func(o metav1.Object) drift.Object { return o.(drift.Object) })
	steps := d.revocations(objects)
	revoked := func(step rollout.Step) bool {
		return slices.ContainsFunc(steps, func(revocation rollout.Step) bool { return revocation.Key() == step.Key() })
	}
	for _, step := range rollout.Lift(d.CSV, objects, d.Observed.Lifted, d.Observed, d.Upgrade, d.now) {
		boundRole, _ := permissions.Bound(step.Object) // none if the object is a role
		switch {
		case d.carriedOut(step.Key()), revoked(step):
		case step.Verb != rollout.Delete && boundRole.Name == "":
			roles = append(roles, step)
		default:
			others = append(others, step)
		}
	}
	if len(roles) > 0 {
		return append(steps, roles...)
	}
	for _, step := range others {
		if step.Verb != rollout.Delete && !permissions.BindsRulesOf(step.Object, desired, d.lifted()) {
			d.notLift(step.Key(), step.Key()+" is not written: the role that it refers to does not have the rules which are lifted; see who changes that role")
			continue
		}
		steps = append(steps, step)
	}
	return steps
}

// revocations returns the deletions of lifted bindings that admission has changed, or whose role it has changed.
func (d *decision) revocations(desired []drift.Object) (steps []rollout.Step) {
	changed := map[string]bool{}
	for _, want := range desired {
		key := drift.KeyOf(want)
		for _, live := range d.Observed.Lifted {
			changed[key] = changed[key] || drift.KeyOf(live) == key && d.Observed.GrantChangedByAdmission(want, live)
		}
	}
	for _, o := range d.Observed.Lifted {
		role, _ := permissions.Bound(o)
		key := role.Kind + " " + role.Name
		if role.Kind == "Role" {
			key = role.Kind + " " + o.GetNamespace() + "/" + role.Name
		}
		switch own := drift.KeyOf(o); {
		case role.Name == "" || d.carriedOut(own) || o.GetDeletionTimestamp() != nil:
		case changed[key]:
			steps = append(steps, rollout.Revocation(o, "rules of the role"))
		case changed[own]:
			steps = append(steps, rollout.Revocation(o, "subjects", "roleRef"))
		}
	}
	return steps
}

func (d *decision) notLift(key, why string) {
	d.notLifted[key], d.Observed.Refused[key] = why, why
}

func (d *decision) learnLifted(desired, existing drift.Object) {
	key := drift.KeyOf(existing)
	if !permissions.IsLifted(existing) || !csvspec.HasOwnerLabels(existing, d.CSV) || !d.Ownership.Proves(existing) && !permissions.IsLiftedAs(desired, existing) {
		d.notLift(key, key+" is not the manager's: delete it, or call the Role in namespace "+d.CSV.Namespace+" otherwise")
		return
	}
	d.Observed.Lifted = append(d.Observed.Lifted, existing)
}

func (d *decision) replaceLifted(step rollout.Step, written drift.Object) {
	d.patched[step.Key()] = true
	d.Observed.Lifted = slices.DeleteFunc(d.Observed.Lifted, func(o drift.Object) bool { return drift.KeyOf(o) == step.Key() })
	if step.Verb != rollout.Delete {
		d.Observed.Lifted = append(d.Observed.Lifted, written)
	}
}

// lifted returns the observed lifted permissions in the form of package permissions.
func (d *decision) lifted() []metav1.Object {
	return lists.Map(d.Observed.Lifted, func(o drift.Object) metav1.Object { return o })
}
