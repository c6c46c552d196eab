package controller

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/queue"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/permissions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/requirements"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// lift grants the permissions of a ClusterServiceVersion wherever its OperatorGroup wants
// them, and counts what is granted: that it is granted is a requirement.
func (c *Controller) lift(ctx context.Context, k queue.Key, s *snapshot) error {
	if !c.LiftRoles || s.Failure != nil || s.Verdict.Mistakes() != "" || s.Verdict.Conflict != "" {
		return nil
	}
	live := c.gather.lifted(s)
	desired := permissions.Lift(c.gather.grants(s, live)).Objects()
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
	s.facts.Access = s.facts.Access.With(s.CSV.Namespace, l.objects())
	s.Verdict = requirements.Check(s.facts)
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
func (c *Controller) liftStep(ctx context.Context, k queue.Key, s *snapshot, l lifting, step rollout.Step) (goOn bool, err error) {
	if l.bindsOthersRules(step) {
		c.notLifted(s, step, step.Key()+" is not written: the role that it refers to does not have the rules which are lifted; see who changes that role")
		return true, nil
	}
	written, existing, err := c.writer.write(ctx, s.CSV.Namespace, step)
	c.metrics.ObserveWrite(step, err)
	switch {
	case existing != nil && (!permissions.IsLifted(existing) || !csvspec.HasOwnerLabels(existing, s.CSV) || !s.Ownership.Proves(existing) && !permissions.IsLiftedAs(step.Object, existing)):
		c.notLifted(s, step, step.Key()+" is not the manager's: delete it, or call the Role in namespace "+s.CSV.Namespace+" otherwise")
	case existing != nil: // the caches do not show it yet
		l.now[step.Key()] = existing
	case unanswered(err):
		s.leaveOut(step, err)
		return false, nil
	case refused(err):
		c.notLifted(s, step, fmt.Sprintf("the API server refuses %s: %v: apply manifests/lift-roles, which lets the manager grant what it does not have", step.Key(), err))
		return false, nil
	case err != nil:
		return false, fmt.Errorf("%s %s: %w", step.Verb, step.Key(), err)
	default:
		c.executor.logWrite(k, step)
		c.writes.Add(k, informers.Write{Object: written, Deleted: step.Verb == rollout.Delete, At: c.now()})
		c.executor.compare(s, step, written)
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
func (c *Controller) notLifted(s *snapshot, step rollout.Step, why string) {
	s.Observed.Refused[step.Key()] = why
	c.events.Event(s.CSV, corev1.EventTypeWarning, "PermissionsNotLifted", why)
}

// lifted is what was lifted for a ClusterServiceVersion, and for those that it replaces.
func (c *gatherer) lifted(s *snapshot) []drift.Object {
	proven, alleged := c.labelledAsLifted(s)
	if len(alleged) == 0 {
		return proven
	}
	lifts := permissions.Lift(c.grants(s, slices.Concat(proven, alleged))).Objects()
	for _, o := range alleged {
		if slices.ContainsFunc(lifts, func(lift metav1.Object) bool { return permissions.IsLiftedAs(lift, o) }) {
			proven = append(proven, o)
		}
	}
	return proven
}

// labelledAsLifted are the objects with the labels of what was lifted: those that belong to the
// ClusterServiceVersion by more than labels, and the others.
func (c *gatherer) labelledAsLifted(s *snapshot) (proven, alleged []drift.Object) {
	owners := informers.OwnerIDs(s.CSV, s.Upgrade.From)
	add := func(o drift.Object) {
		switch {
		case !permissions.IsLifted(o):
		case s.Ownership.Proves(o):
			proven = append(proven, o)
		default:
			alleged = append(alleged, o)
		}
	}
	for _, o := range c.caches.ClusterRoles.OfOwners(owners) {
		add(o)
	}
	for _, o := range c.caches.ClusterRoleBindings.OfOwners(owners) {
		add(o)
	}
	for _, o := range c.caches.Roles.OfOwners(owners) {
		add(o)
	}
	for _, o := range c.caches.RoleBindings.OfOwners(owners) {
		add(o)
	}
	return proven, alleged
}

// grants are what the installer granted to the ServiceAccounts of a ClusterServiceVersion in
// its namespace.
func (c *gatherer) grants(s *snapshot, lifted []drift.Object) permissions.Grants {
	ours := map[string]bool{}
	for _, o := range lifted {
		ours[drift.KeyOf(o)] = true
	}
	g := permissions.Grants{
		CSV: s.CSV, Targets: s.Scope.Namespaces, Roles: map[string]*rbacv1.Role{}, Foreign: map[string]bool{},
		Access: c.access(s.CSV, s.Scope.Namespaces, ours),
	}
	seen := map[string]bool{}
	for _, account := range csvspec.ServiceAccounts(s.CSV) {
		for _, b := range c.caches.RoleBindings.By(informers.BySubject, permissions.SubjectsOf(s.CSV.Namespace, account)[0]) {
			if b.Namespace != s.CSV.Namespace || seen[b.Name] {
				continue
			}
			seen[b.Name] = true
			g.Bindings = append(g.Bindings, b)
			if role := c.caches.Roles.Get(b.Namespace, b.RoleRef.Name); role != nil {
				g.Roles[role.Name] = role
			}
			for _, o := range c.namesakes(g.Elsewhere(), b) {
				if !ours[drift.KeyOf(o)] {
					g.AddForeign(o)
				}
			}
		}
	}
	return g
}

// namesakes are the objects in some namespaces that are called as a binding and its role; ""
// is the cluster.
func (c *gatherer) namesakes(namespaces []string, b *rbacv1.RoleBinding) (found []drift.Object) {
	for _, namespace := range namespaces {
		if namespace == metav1.NamespaceAll {
			found = appendFound(found, c.caches.ClusterRoles.Get("", b.RoleRef.Name))
			found = appendFound(found, c.caches.ClusterRoleBindings.Get("", b.Name))
			continue
		}
		found = appendFound(found, c.caches.Roles.Get(namespace, b.RoleRef.Name))
		found = appendFound(found, c.caches.RoleBindings.Get(namespace, b.Name))
	}
	return found
}

// appendFound adds an object that a cache has.
func appendFound[P interface {
	*T
	drift.Object
}, T any](found []drift.Object, o P) []drift.Object {
	if o == nil {
		return found
	}
	return append(found, o)
}

// atHome are the objects of a namespace: what was lifted is called like what it was made of.
func atHome[T drift.Object](namespace string, objects []T) []T {
	var there []T
	for _, o := range objects {
		if o.GetNamespace() == namespace {
			there = append(there, o)
		}
	}
	return there
}
