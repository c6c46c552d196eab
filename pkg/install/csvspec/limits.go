package csvspec

import (
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
)

// Limits of combinations. Two lists of 20,000 items fit into 200 kB and have 400,000,000 combinations.
const (
	// MaxCombinations limits the pairs of group and resource in all rules, with up to UsualText bytes for each.
	MaxCombinations = 10_000
	// MaxGrants limits the combinations of verb, group, resource and name in the permissions.
	MaxGrants = 100_000
)

// A rule with long names counts by the size of its names.
func combinations(rule admissionregistrationv1.RuleWithOperations) int {
	long := len(rule.APIGroups)*textOf(rule.Resources) + len(rule.Resources)*textOf(rule.APIGroups)
	return min(max(product(len(rule.APIGroups), len(rule.Resources)), long/UsualText), enough)
}

// UsualText is the maximum usual size of the names of a group and a resource, in bytes.
const UsualText = 64

func textOf(names []string) (bytes int) {
	for _, name := range names {
		bytes += len(name)
	}
	return bytes
}

// PermissionCombinations counts the combinations that MaxGrants limits.
func PermissionCombinations(csv *operatorsv1alpha1.ClusterServiceVersion) int {
	strategy, total := csv.Spec.InstallStrategy.StrategySpec, 0
	for _, p := range slices.Concat(strategy.Permissions, strategy.ClusterPermissions) {
		for _, rule := range p.Rules {
			total = min(total+GrantCombinations(rule), enough)
		}
	}
	return total
}

// GrantCombinations returns the number of combinations in a rule of a role.
func GrantCombinations(rule rbacv1.PolicyRule) int {
	resources := product(len(rule.APIGroups), len(rule.Resources), max(1, len(rule.ResourceNames)))
	return product(resources+len(rule.NonResourceURLs), len(rule.Verbs))
}

// enough is larger than any limit, and sums of it do not overflow.
const enough = 1 << 30

// product returns the product of the lengths, at most enough.
func product(lengths ...int) int {
	total := 1
	for _, length := range lengths {
		if length > 0 && total > enough/length {
			return enough
		}
		total *= length
	}
	return total
}

// WebhooksWithinLimit returns the number of leading webhooks that are rendered.
func WebhooksWithinLimit(csv *operatorsv1alpha1.ClusterServiceVersion) int {
	total := 0
	for i, d := range csv.Spec.WebhookDefinitions {
		for _, rule := range d.Rules {
			if total = min(total+combinations(rule), enough); total > MaxCombinations {
				return i
			}
		}
	}
	return len(csv.Spec.WebhookDefinitions)
}

// LimitRules returns a CSV in which the webhooks beyond the limit have no rules.
func LimitRules(csv *operatorsv1alpha1.ClusterServiceVersion) *operatorsv1alpha1.ClusterServiceVersion {
	limit := WebhooksWithinLimit(csv)
	if limit == len(csv.Spec.WebhookDefinitions) {
		return csv
	}
	limited := *csv
	limited.Spec.WebhookDefinitions = slices.Clone(csv.Spec.WebhookDefinitions)
	for i := range limited.Spec.WebhookDefinitions[limit:] {
		limited.Spec.WebhookDefinitions[limit+i].Rules = nil
	}
	return &limited
}
