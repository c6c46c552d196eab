package csvspec

import (
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
)

// Limits of the combinations of lists: lists of 20,000 items each fit into 200 kB, and two of them have
// 400,000,000 combinations.
const (
	// MaxCombinations is how many combinations of API group and resource the rules of all webhooks of a
	// ClusterServiceVersion may have. Together their names may have as many times 64 bytes.
	MaxCombinations = 10_000
	// MaxGrants is how many combinations of verb, group, resource and name the permissions of a
	// ClusterServiceVersion may have. Each is compared with what an account may do.
	MaxGrants = 100_000
)

// combinations returns how many resources a rule of a webhook names, each once for each API group; where the
// names of all of them have more than usualText bytes each, it is the larger number of usualText.
func combinations(rule admissionregistrationv1.RuleWithOperations) int {
	long := len(rule.APIGroups)*textOf(rule.Resources) + len(rule.Resources)*textOf(rule.APIGroups)
	return min(max(product(len(rule.APIGroups), len(rule.Resources)), long/UsualText), enough)
}

// usualText is how many bytes the names of a group and a resource seldom have.
const UsualText = 64

func textOf(names []string) (bytes int) {
	for _, name := range names {
		bytes += len(name)
	}
	return bytes
}

// PermissionCombinations returns how many combinations of verb, group, resource and name the permissions of a
// ClusterServiceVersion have.
func PermissionCombinations(csv *operatorsv1alpha1.ClusterServiceVersion) int {
	strategy, total := csv.Spec.InstallStrategy.StrategySpec, 0
	for _, p := range slices.Concat(strategy.Permissions, strategy.ClusterPermissions) {
		for _, rule := range p.Rules {
			total = min(total+GrantCombinations(rule), enough)
		}
	}
	return total
}

// GrantCombinations returns how many combinations of its lists a rule of a role has.
func GrantCombinations(rule rbacv1.PolicyRule) int {
	resources := product(len(rule.APIGroups), len(rule.Resources), max(1, len(rule.ResourceNames)))
	return product(resources+len(rule.NonResourceURLs), len(rule.Verbs))
}

// enough is more than any limit, and does not overflow when it is added.
const enough = 1 << 30

// product returns the product of some lengths, or a number above each limit.
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

// WebhooksWithinLimit returns how many of the first webhooks of a ClusterServiceVersion have together no more than
// MaxCombinations. The others are not rendered, and not compared with what is served.
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

// withoutWide returns a ClusterServiceVersion in which the webhooks that are not narrow have no rules.
func LimitRules(csv *operatorsv1alpha1.ClusterServiceVersion) *operatorsv1alpha1.ClusterServiceVersion {
	narrow := WebhooksWithinLimit(csv)
	if narrow == len(csv.Spec.WebhookDefinitions) {
		return csv
	}
	limited := *csv
	limited.Spec.WebhookDefinitions = slices.Clone(csv.Spec.WebhookDefinitions)
	for i := range limited.Spec.WebhookDefinitions[narrow:] {
		limited.Spec.WebhookDefinitions[narrow+i].Rules = nil
	}
	return &limited
}
