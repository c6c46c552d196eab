package controller

import (
	"slices"
	"strings"
	"sync"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
)

// scopes remembers what OperatorGroups cover that select Namespaces by their labels: to find
// that out is to look at every Namespace, and every ClusterServiceVersion asks.
type scopes struct {
	mutex sync.Mutex
	known map[string]knownScope // by namespace
}

type knownScope struct {
	groups  string // of the namespace, as they were
	scope   scope.Scope
	failure *scope.Failure
}

// forget is for when a group of a namespace covers other Namespaces than before.
func (s *scopes) forget(namespace string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	delete(s.known, namespace)
}

// of is the scope of a namespace with some groups, or what is found out.
func (s *scopes) of(namespace string, groups []*operatorsv1.OperatorGroup, find func() (scope.Scope, *scope.Failure)) (scope.Scope, *scope.Failure) {
	as := versionsOf(groups)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if known, found := s.known[namespace]; found && known.groups == as {
		return known.scope, known.failure
	}
	if s.known == nil {
		s.known = map[string]knownScope{}
	}
	found, failure := find()
	found.Namespaces = slices.Clip(found.Namespaces) // all share them
	s.known[namespace] = knownScope{groups: as, scope: found, failure: failure}
	return found, failure
}

func versionsOf(groups []*operatorsv1.OperatorGroup) string {
	var versions strings.Builder
	for _, g := range groups {
		versions.WriteString(string(g.UID) + "/" + g.ResourceVersion + ",")
	}
	return versions.String()
}

// scopeOf is what the OperatorGroup of a namespace covers.
func (c *Controller) scopeOf(namespace string) (scope.Scope, *scope.Failure) {
	groups := c.caches.groups.in(namespace)
	find := func() (scope.Scope, *scope.Failure) {
		return scope.ForNamespace(namespace, groups, c.namespacesFor(groups...))
	}
	if _, all := scope.Named(groups); all {
		return c.scopes.of(namespace, groups, find)
	}
	return find()
}

// uncovered are the Namespaces that do not bear the label yet by which a scope's webhooks
// select them. Those of groups that select by labels do the same.
func (c *Controller) uncovered(s scope.Scope) []string {
	if len(s.Group.Spec.TargetNamespaces) == 0 {
		return nil
	}
	return s.Unlabelled(c.namespacesFor(s.Group))
}
