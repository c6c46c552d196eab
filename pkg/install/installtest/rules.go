package installtest

import (
	"fmt"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
)

var (
	// ReadPods grants access to all pods.
	ReadPods = Policy("pods", "get", "list")
	// ReadLeases grants access to one Lease.
	ReadLeases = rbacv1.PolicyRule{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"get"}, ResourceNames: []string{"lock"}}
	// Everything grants all access to resources.
	Everything = rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}}
	// ReadHealth grants access to a path.
	ReadHealth = rbacv1.PolicyRule{NonResourceURLs: []string{"/healthz"}, Verbs: []string{"get"}}
)

// Policy returns a rule of the core API group.
func Policy(resource string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{resource}, Verbs: verbs}
}

// Policies returns its arguments.
func Policies(all ...rbacv1.PolicyRule) []rbacv1.PolicyRule { return all }

// Granted returns rules by namespace.
func Granted(namespace string, rules ...rbacv1.PolicyRule) map[string][]rbacv1.PolicyRule {
	return map[string][]rbacv1.PolicyRule{namespace: rules}
}

// ListOf returns n names.
func ListOf(n int) []string {
	return Times(n, func(i int) string { return fmt.Sprintf("item%d", i) })
}

// Numbered returns a text of n parts, each formatted with its number.
func Numbered(n int, format string) string {
	return strings.Join(Times(n, func(i int) string { return fmt.Sprintf(format, i) }), "")
}
