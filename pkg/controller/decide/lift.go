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
	for _, step := range rollout.Lift(d.CSV, objects, d.Observed.Lifted, d.Observed, d.Upgrade, d.now) {
		boundRole, _ := permissions.Bound(step.Object) // none if the object is a role
		switch {
		case d.carriedOut(step.Key()):
		case step.Verb != rollout.Delete && boundRole.Name == "":
			roles = append(roles, step)
		default:
			others = append(others, step)
		}
	}
	steps := d.revocations(desired)
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

// revocations returns the deletions of lifted bindings whose role admission has changed.
func (d *decision) revocations(desired []metav1.Object) (steps []rollout.Step) {
	for _, o := range d.Observed.Lifted {
		role, _ := permissions.Bound(o)
		key := role.Kind + " " + role.Name
		if role.Kind == "Role" {
			key = role.Kind + " " + o.GetNamespace() + "/" + role.Name
		}
		if d.Observed.Writes[key].RefusesAdmission() && !permissions.BindsRulesOf(o, desired, d.lifted()) {
			steps = append(steps, rollout.Revocation(o))
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
