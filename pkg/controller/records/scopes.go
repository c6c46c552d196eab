package records

import (
	"slices"
	"strings"
	"sync"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
)

// Scopes caches scopes by labels, for which every Namespace is read and which every ClusterServiceVersion needs.
type Scopes struct {
	mutex sync.Mutex
	known map[string]knownScope // by namespace
}

type knownScope struct {
	groups  string // of the namespace, as they were
	scope   scope.Scope
	failure *scope.Failure
}

// Forget deletes the scope of a namespace, because one of its groups covers other Namespaces.
func (s *Scopes) Forget(namespace string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	delete(s.known, namespace)
}

// Of returns the cached scope of a namespace with some groups, or else the result of find.
func (s *Scopes) Of(namespace string, groups []*operatorsv1.OperatorGroup, find func() (scope.Scope, *scope.Failure)) (scope.Scope, *scope.Failure) {
	as := versionsOf(groups)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if known, found := s.known[namespace]; found && known.groups == as {
		return known.scope, known.failure
	}
	found, failure := find()
	found.Namespaces = slices.Clip(found.Namespaces) // all share them
	put(&s.known, namespace, knownScope{groups: as, scope: found, failure: failure})
	return found, failure
}

func versionsOf(groups []*operatorsv1.OperatorGroup) string {
	var versions strings.Builder
	for _, g := range groups {
		versions.WriteString(string(g.UID) + "/" + g.ResourceVersion + ",")
	}
	return versions.String()
}
