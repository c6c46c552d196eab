package controller

import (
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
)

// scopeOf is what the OperatorGroup of a namespace covers.
func (c *versions) scopeOf(namespace string) (scope.Scope, *scope.Failure) {
	groups := c.caches.Groups.In(namespace)
	find := func() (scope.Scope, *scope.Failure) {
		return scope.ForNamespace(namespace, groups, c.namespacesFor(groups...))
	}
	if _, all := scope.Named(groups); all {
		return c.scopes.Of(namespace, groups, find)
	}
	return find()
}

// uncovered are the Namespaces that do not bear the label yet by which a scope's webhooks
// select them. Those of groups that select by labels do the same.
func (c *versions) uncovered(s scope.Scope) []string {
	if len(s.Group.Spec.TargetNamespaces) == 0 {
		return nil
	}
	return s.Unlabelled(c.namespacesFor(s.Group))
}
