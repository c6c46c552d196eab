package csvspec

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
)

// ServiceAccounts returns the names in the permissions of a CSV, in the order of their first use.
func ServiceAccounts(csv *operatorsv1alpha1.ClusterServiceVersion) []string {
	strategy := csv.Spec.InstallStrategy.StrategySpec
	all := slices.Concat(strategy.Permissions, strategy.ClusterPermissions)
	account := func(p operatorsv1alpha1.StrategyDeploymentPermissions) string { return p.ServiceAccountName }
	return lists.Map(lists.Unique(all, account), account)
}

// ServiceAccountOf returns the name of the ServiceAccount of a pod.
func ServiceAccountOf(pod corev1.PodSpec) string {
	return cmp.Or(pod.ServiceAccountName, pod.DeprecatedServiceAccount, "default")
}

// RulesOf returns the rules that permissions grant to a ServiceAccount.
func RulesOf(permissions []operatorsv1alpha1.StrategyDeploymentPermissions, account string) []rbacv1.PolicyRule {
	var rules []rbacv1.PolicyRule
	for _, p := range permissions {
		if p.ServiceAccountName == account {
			rules = append(rules, p.Rules...)
		}
	}
	return rules
}
