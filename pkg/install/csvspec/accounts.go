package csvspec

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
)

// ServiceAccounts are the names of the ServiceAccounts that the permissions of a
// ClusterServiceVersion speak of, each once, in the order of their first mention.
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

func RulesOf(permissions []operatorsv1alpha1.StrategyDeploymentPermissions, account string) []rbacv1.PolicyRule {
	var rules []rbacv1.PolicyRule
	for _, p := range permissions {
		if p.ServiceAccountName == account {
			rules = append(rules, p.Rules...)
		}
	}
	return rules
}
