package controller

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
)

// lift grants the permissions of a ClusterServiceVersion wherever its OperatorGroup wants
// them. That they are granted is a requirement, so nothing waits for the answer: the
// caches show it, and wake the ClusterServiceVersion up.
func (c *Controller) lift(ctx context.Context, k key, s *snapshot) error {
	if !c.LiftRoles || s.failure != nil || s.verdict.Mistakes() != "" || s.verdict.Conflict != "" {
		return nil
	}
	live := c.lifted(s)
	var wanted []rollout.Object
	for _, o := range install.Lift(c.grants(s, live)).Objects() {
		wanted = append(wanted, o.(rollout.Object))
	}
	for _, step := range rollout.Lift(s.csv, wanted, live, s.observed, s.upgrade, c.now()) {
		written, existing, err := c.write(ctx, s.csv.Namespace, step)
		c.metrics.observeWrite(step, err)
		switch {
		case existing != nil && (!install.IsLifted(existing) || !install.Labelled(existing, s.csv)):
			c.notLifted(s, step, step.Key()+" is not the manager's: delete it, or call the Role in namespace "+s.csv.Namespace+" otherwise")
		case existing != nil: // the caches do not show it yet
		case unanswered(err):
			s.leaveOut(step, err)
			return nil
		case refused(err):
			c.notLifted(s, step, fmt.Sprintf("the API server refuses %s: %v: apply manifests/lift-roles, which lets the manager grant what it does not have", step.Key(), err))
			return nil // bindings need the role that they are for
		case err != nil:
			return fmt.Errorf("%s %s: %w", step.Verb, step.Key(), err)
		default:
			c.logWrite(k, step)
			c.writes.add(k, pendingWrite{object: written, gone: step.Verb == rollout.Delete, at: c.now()})
		}
	}
	return nil
}

// notLifted says what keeps permissions from being lifted. It is tried again.
func (c *Controller) notLifted(s *snapshot, step rollout.Step, why string) {
	s.observed.Refused[step.Key()] = why
	c.events.Event(s.csv, corev1.EventTypeWarning, "PermissionsNotLifted", why)
}

// lifted is what was lifted for a ClusterServiceVersion, and for those that it replaces.
func (c *Controller) lifted(s *snapshot) []rollout.Object {
	owners := ownerIDs(s.csv, s.upgrade.From)
	var all []rollout.Object
	add := func(o rollout.Object) {
		if install.IsLifted(o) {
			all = append(all, o)
		}
	}
	for _, o := range c.caches.clusterRoles.ofOwners(owners) {
		add(o)
	}
	for _, o := range c.caches.clusterRoleBindings.ofOwners(owners) {
		add(o)
	}
	for _, o := range c.caches.roles.ofOwners(owners) {
		add(o)
	}
	for _, o := range c.caches.roleBindings.ofOwners(owners) {
		add(o)
	}
	return all
}

// grants are what the installer granted to the ServiceAccounts of a ClusterServiceVersion in
// its namespace.
func (c *Controller) grants(s *snapshot, lifted []rollout.Object) install.Grants {
	ours := map[string]bool{}
	for _, o := range lifted {
		ours[rollout.KeyOf(o)] = true
	}
	g := install.Grants{
		CSV: s.csv, Targets: s.scope.Namespaces, Roles: map[string]*rbacv1.Role{}, Foreign: map[string]bool{},
		Access: c.access(s.csv, s.scope.Namespaces, ours),
	}
	seen := map[string]bool{}
	for _, account := range install.RequiredAccounts(s.csv) {
		for _, b := range c.caches.roleBindings.by(bySubject, install.SubjectsOf(s.csv.Namespace, account)[0]) {
			if b.Namespace != s.csv.Namespace || seen[b.Name] {
				continue
			}
			seen[b.Name] = true
			g.Bindings = append(g.Bindings, b)
			if role := c.caches.roles.get(b.Namespace, b.RoleRef.Name); role != nil {
				g.Roles[role.Name] = role
			}
			if role := c.caches.clusterRoles.get("", b.RoleRef.Name); role != nil && !ours[rollout.KeyOf(role)] {
				g.Foreign[role.Name] = true
			}
			if other := c.caches.clusterRoleBindings.get("", b.Name); other != nil && !ours[rollout.KeyOf(other)] {
				g.Foreign[other.Name] = true
			}
		}
	}
	return g
}

// atHome are the objects of a namespace: what was lifted is called like what it was made of.
func atHome[T rollout.Object](namespace string, objects []T) []T {
	var there []T
	for _, o := range objects {
		if o.GetNamespace() == namespace {
			there = append(there, o)
		}
	}
	return there
}
