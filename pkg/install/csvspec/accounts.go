package csvspec

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
)

// ServiceAccounts returns the names in the permissions of a CSV, in the order of their first use.
func ServiceAccounts(csv *operatorsv1alpha1.ClusterServiceVersion) []string {
	strategy := csv.Spec.InstallStrategy.StrategySpec
	var accounts []string
	for _, p := range slices.Concat(strategy.Permissions, strategy.ClusterPermissions) {
		if !slices.Contains(accounts, p.ServiceAccountName) {
			accounts = append(accounts, p.ServiceAccountName)
		}
	}
	return accounts
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
