// Package clusterrole renders the ClusterRoles of OperatorGroups and of provided APIs as OLM v0 does, and compares them
// with existing ones.
package clusterrole

import (
	"fmt"
	"hash/fnv"
)

// Level is what users may do. A ClusterRole has one level.
type Level string

// The levels, which are also those of the ClusterRoles of Kubernetes for users.
const (
	Admin Level = "admin"
	Edit  Level = "edit"
	View  Level = "view"
)

var levels = []Level{Admin, Edit, View}

// verbs are those of OLM v0. A user of a higher level has the lower roles, too: those of Kubernetes include each other.
func (l Level) verbs() []string {
	switch l {
	case Admin:
		return []string{"*"}
	case Edit:
		return []string{"create", "update", "patch", "delete"}
	default:
		return []string{"get", "list", "watch"}
	}
}

// builtIn is the label by which the ClusterRole of Kubernetes for a level includes another ClusterRole.
func (l Level) builtIn() string { return "rbac.authorization.k8s.io/aggregate-to-" + string(l) }

// forGroups is the label by which the ClusterRoles of OperatorGroups include the ClusterRole of an API, which is
// kind.version.group.
func (l Level) forGroups(api string) string {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(api)) // it never fails
	return fmt.Sprintf("olm.opgroup.permissions/aggregate-to-%x-%s", hash.Sum64(), l)
}
