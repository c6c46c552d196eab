package show

import (
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// Every rule is a row. A role that grants nothing yet is also among the other objects.
func TestPermissionsOfObjects(t *testing.T) {
	var manifests []*unstructured.Unstructured
	for _, text := range []string{
		"{apiVersion: v1, kind: Namespace, metadata: {name: shop}}",
		"{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: r, namespace: a}, rules: [{apiGroups: [''], resources: [pods], verbs: [get]}]}",
		"{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: r, namespace: a}, roleRef: {kind: Role, name: r}, subjects: [{kind: ServiceAccount, name: shop, namespace: shop}]}",
		"{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: r, namespace: b}, rules: [{apiGroups: [''], resources: [pods], verbs: [get]}]}",
		"{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: r, namespace: b}, roleRef: {kind: Role, name: r}, subjects: [{kind: ServiceAccount, name: shop, namespace: shop}]}",
		"{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: s, namespace: b}, roleRef: {kind: ClusterRole, name: view}, subjects: [{kind: User, name: eve}, {kind: ServiceAccount, name: shop, namespace: other}]}",
		"{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: unbound}, rules: [{apiGroups: [''], resources: [secrets], verbs: [get]}]}",
		"{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: c, labels: {example.com/tier: monitoring, olm.owner: shop.v1}}, rules: [{nonResourceURLs: [/metrics], verbs: [get]}], aggregationRule: {clusterRoleSelectors: [{matchLabels: {a: b}}]}}",
		"{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: c}, roleRef: {kind: ClusterRole, name: c}, subjects: [{kind: ServiceAccount, name: shop, namespace: shop}]}",
		"{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: cluster-admin}}",
		"{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: d}, roleRef: {kind: ClusterRole, name: cluster-admin}, subjects: [{kind: Group, name: 'system:authenticated'}]}",
		"{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: e}, rules: [{apiGroups: ['*'], resources: ['*'], verbs: ['*']}]}",
		"{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: f}, roleRef: {kind: ClusterRole, name: e}}",
		"{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: g, namespace: b}, roleRef: {kind: ClusterRole, name: e}, subjects: []}",
		"{apiVersion: operators.coreos.com/v1alpha1, kind: ClusterServiceVersion, metadata: {name: shop.v1}}",
	} {
		var object unstructured.Unstructured
		installtest.Must(t, yaml.Unmarshal([]byte(text), &object.Object))
		manifests = append(manifests, &object)
	}
	c := contentsOf(manifests)
	got := rows(c.permissions())
	want := [][]string{
		{"Group system:authenticated", "cluster", "all of", "ClusterRole cluster-admin"},
		{"User eve", "b", "all of", "ClusterRole view"},
		{"ServiceAccount other/shop", "b", "all of", "ClusterRole view"},
		{"all who have a ClusterRole that aggregates labels example.com/tier=monitoring", "their scope", "all of", "ClusterRole c"},
		{"shop", "cluster", "all of", "ClusterRoles with a=b"},
		{"no account yet (ClusterRole e)", "where it is bound", "*", "*.*"},
		{"no account yet (ClusterRole unbound)", "where it is bound", "get", "secrets"},
		{"shop", "a, b", "get", "pods"},
		{"shop", "cluster", "get", "/metrics"},
	}
	installtest.Same(t, "permissions", want, got)
	installtest.Same(t, "other objects", []Object{
		{Kind: "ClusterRoleBinding.rbac.authorization.k8s.io", Name: "f", Details: "of ClusterRole e, without subjects"},
		{Kind: "RoleBinding.rbac.authorization.k8s.io", Namespace: "b", Name: "g", Details: "of ClusterRole e, without subjects"},
		{Kind: "ClusterRole.rbac.authorization.k8s.io", Name: "unbound"},
		{Kind: "ClusterRole.rbac.authorization.k8s.io", Name: "e"},
	}, c.others)
}

// The verb * includes the verbs that get an account the permissions of others, where API servers check them.
func TestDangerOfEveryVerb(t *testing.T) {
	for _, c := range []struct {
		group, resource, verb string
		want                  int
	}{
		{"rbac.authorization.k8s.io", "clusterroles", "*", isAdministrator},
		{"rbac.authorization.k8s.io", "roles", "*", isAdministrator},
		{"rbac.authorization.k8s.io", "*", "*", isAdministrator},
		{"*", "clusterroles", "*", isAdministrator},
		{"", "users", "*", isAdministrator},
		{"", "groups", "*", isAdministrator},
		{"", "serviceaccounts", "*", isAdministrator},
		{"", "*", "*", isAdministrator},
		{"*", "*", "*", isAdministrator},
		{"rbac.authorization.k8s.io", "clusterroles", "bind", isAdministrator},
		{"rbac.authorization.k8s.io", "*", "escalate", isAdministrator},
		{"", "secrets", "get", leadsToAdministrator},
		{"apps", "*", "*", leadsToAdministrator},
		{"rbac.authorization.k8s.io", "clusterrolebindings", "*", 1}, // bind is checked on the role
		{"shop.example.com", "clusterroles", "*", 1},
		{"", "configmaps", "*", 1},
		{"rbac.authorization.k8s.io", "clusterroles", "get", 0},
	} {
		rule := rbacv1.PolicyRule{APIGroups: []string{c.group}, Resources: []string{c.resource}, Verbs: []string{c.verb}}
		installtest.Same(t, c.verb+" "+c.resource+"."+c.group, c.want, dangerOf("", "", rule))
	}
}

// The image of a running pod may be changed: the new one runs with the ServiceAccount and the Secrets of the pod.
func TestEscalates(t *testing.T) {
	for rule, want := range map[[2]string]bool{
		{"pods", "create"}:                 true,
		{"pods", "update"}:                 true,
		{"pods", "patch"}:                  true,
		{"pods", "*"}:                      true,
		{"pods", "get"}:                    false,
		{"pods", "delete"}:                 false,
		{"pods/status", "patch"}:           false,
		{"pods/exec", "create"}:            true,
		{"*", "get"}:                       true,
		{"*/exec", "create"}:               true,
		{"*/attach", "create"}:             true,
		{"*/token", "create"}:              true,
		{"*/ephemeralcontainers", "patch"}: true,
		{"*/proxy", "get"}:                 true,
		{"*/approval", "update"}:           true,
		{"*/status", "patch"}:              false,
		{"*/*", "create"}:                  false, // API servers take it for a subresource of the name *
		{"pods/*", "create"}:               false,
		{"exec", "create"}:                 false,
		{"deployments", "patch"}:           true,
		{"configmaps", "patch"}:            false,
	} {
		installtest.Same(t, rule[1]+" "+rule[0], want, Escalates(rbacv1.PolicyRule{APIGroups: []string{""}, Resources: rule[:1], Verbs: rule[1:]}))
	}
}

func rows(permissions []Permission) [][]string {
	return lists.Map(permissions, func(p Permission) []string { return []string{p.Account, p.Where, p.Verbs, p.On} })
}
