package controller

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/execute"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/gather"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/queue"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/write"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/permissions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/requirements"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// lift grants the permissions of a ClusterServiceVersion wherever its OperatorGroup wants
// them, and counts what is granted: that it is granted is a requirement.
func (c *Controller) lift(ctx context.Context, k queue.Key, s *gather.Snapshot) error {
	if !c.LiftRoles || s.Failure != nil || s.Verdict.Mistakes() != "" || s.Verdict.Conflict != "" {
		return nil
	}
	live := c.gather.Lifted(s)
	desired := permissions.Lift(c.gather.Grants(s, live)).Objects()
	l := lifting{desired: desired, now: map[string]metav1.Object{}}
	for _, o := range live {
		l.now[drift.KeyOf(o)] = o
	}
	for _, step := range rollout.Lift(s.CSV, typedObjects(desired), live, s.Observed, s.Upgrade, c.now()) {
		goOn, err := c.liftStep(ctx, k, s, l, step)
		if err != nil {
			return err
		}
		if !goOn {
			break // bindings need the role that they are for
		}
	}
	s.Observed.Lifted = typedObjects(l.objects())
	s.Requirements.Access = s.Requirements.Access.With(s.CSV.Namespace, l.objects())
	s.Verdict = requirements.Check(s.Requirements)
	return nil
}

// lifting is what is to be lifted for a ClusterServiceVersion, and what of it exists.
type lifting struct {
	desired []metav1.Object
	now     map[string]metav1.Object // by key
}

func (l lifting) objects() []metav1.Object { return slices.Collect(maps.Values(l.now)) }

// bindsOthersRules reports whether a step writes a binding to a role whose rules are not those that are
// lifted: another client created it, or changes it.
func (l lifting) bindsOthersRules(step rollout.Step) bool {
	switch step.Object.(type) {
	case *rbacv1.RoleBinding, *rbacv1.ClusterRoleBinding:
		return step.Verb != rollout.Delete && !permissions.BindsRulesOf(step.Object, l.desired, l.objects())
	default:
		return false
	}
}

// liftStep carries out one step. It reports whether the next may follow.
func (c *Controller) liftStep(ctx context.Context, k queue.Key, s *gather.Snapshot, l lifting, step rollout.Step) (goOn bool, err error) {
	if l.bindsOthersRules(step) {
		c.notLifted(s, step, step.Key()+" is not written: the role that it refers to does not have the rules which are lifted; see who changes that role")
		return true, nil
	}
	written, existing, err := c.writer.Send(ctx, s.CSV.Namespace, step)
	c.metrics.ObserveWrite(step, err)
	switch {
	case existing != nil && (!permissions.IsLifted(existing) || !csvspec.HasOwnerLabels(existing, s.CSV) || !s.Ownership.Proves(existing) && !permissions.IsLiftedAs(step.Object, existing)):
		c.notLifted(s, step, step.Key()+" is not the manager's: delete it, or call the Role in namespace "+s.CSV.Namespace+" otherwise")
	case existing != nil: // the caches do not show it yet
		l.now[step.Key()] = existing
	case write.IsUnanswered(err):
		execute.RecordRefusal(s, step, err)
		return false, nil
	case write.IsRefused(err):
		c.notLifted(s, step, fmt.Sprintf("the API server refuses %s: %v: apply manifests/lift-roles, which lets the manager grant what it does not have", step.Key(), err))
		return false, nil
	case err != nil:
		return false, fmt.Errorf("%s %s: %w", step.Verb, step.Key(), err)
	default:
		c.executor.LogWrite(k, step)
		c.writes.Add(k, informers.Write{Object: written, Deleted: step.Verb == rollout.Delete, At: c.now()})
		c.executor.RecordWrite(s, step, written)
		l.note(step, written)
	}
	return true, nil
}

func (l lifting) note(step rollout.Step, written drift.Object) {
	if step.Verb == rollout.Delete {
		delete(l.now, step.Key())
		return
	}
	l.now[step.Key()] = written
}

func typedObjects(all []metav1.Object) []drift.Object {
	var objects []drift.Object
	for _, o := range all {
		objects = append(objects, o.(drift.Object))
	}
	return objects
}

// notLifted says what keeps permissions from being lifted. It is tried again.
func (c *Controller) notLifted(s *gather.Snapshot, step rollout.Step, why string) {
	s.Observed.Refused[step.Key()] = why
	c.events.Event(s.CSV, corev1.EventTypeWarning, "PermissionsNotLifted", why)
}
