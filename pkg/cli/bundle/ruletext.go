package bundle

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
)

const (
	// rowText is how many bytes each rule needs beside its own text.
	rowText = 64
	// enough is more than any limit, and does not overflow when it is added.
	enough = 1 << 30
)

// table is how large rules are where each combination is written out, a row for each rule.
type table struct{ rows, bytes int }

func (t table) plus(other table) table {
	return table{t.rows + other.rows, min(t.bytes+other.bytes, enough)}
}

// with returns how many bytes a text needs that stands in each row.
func (t table) with(text int) int { return times(t.rows, text) }

// textOf returns how many bytes the rules of an object have where each combination is written out with the object's
// name, and their field.
func textOf(typed any) (path string, bytes int) {
	switch o := typed.(type) {
	case *operatorsv1alpha1.ClusterServiceVersion:
		return "spec", textOfCSV(o)
	case *rbacv1.Role:
		return "rules", named(roleTable(o.Rules), o.Name)
	case *rbacv1.ClusterRole:
		return "rules", named(clusterRoleTable(o), o.Name)
	case *admissionregistrationv1.ValidatingWebhookConfiguration:
		var all table
		for _, w := range o.Webhooks {
			all = all.plus(interceptTable(w.Rules))
		}
		return "webhooks", named(all, o.Name)
	case *admissionregistrationv1.MutatingWebhookConfiguration:
		var all table
		for _, w := range o.Webhooks {
			all = all.plus(interceptTable(w.Rules))
		}
		return "webhooks", named(all, o.Name)
	case *admissionregistrationv1.ValidatingAdmissionPolicy:
		return "spec.matchConstraints", matchTable(o.Spec.MatchConstraints).bytes
	case *admissionregistrationv1.MutatingAdmissionPolicy:
		return "spec.matchConstraints", matchTable(o.Spec.MatchConstraints).bytes
	default:
		return "", 0
	}
}

func named(t table, name string) int { return t.bytes + t.with(len(name)) }

func textOfCSV(csv *operatorsv1alpha1.ClusterServiceVersion) (bytes int) {
	for _, w := range csv.Spec.WebhookDefinitions {
		bytes = min(bytes+interceptTable(w.Rules).bytes, enough)
	}
	strategy := csv.Spec.InstallStrategy.StrategySpec
	for _, permissions := range [][]operatorsv1alpha1.StrategyDeploymentPermissions{strategy.Permissions, strategy.ClusterPermissions} {
		for _, p := range permissions {
			bytes = min(bytes+named(roleTable(p.Rules), p.ServiceAccountName), enough)
		}
	}
	return bytes
}

func matchTable(m *admissionregistrationv1.MatchResources) table {
	if m == nil {
		return table{}
	}
	var rules []admissionregistrationv1.RuleWithOperations
	for _, rule := range m.ResourceRules {
		rules = append(rules, rule.RuleWithOperations)
	}
	return interceptTable(rules)
}

// interceptTable counts the webhook that has the rules as a row, too.
func interceptTable(rules []admissionregistrationv1.RuleWithOperations) table {
	all := table{1, rowText}
	for _, rule := range rules {
		all = all.plus(table{1, rowText + pairText(rule.APIGroups, rule.Resources)})
	}
	return all
}

func roleTable(rules []rbacv1.PolicyRule) (all table) {
	for _, rule := range rules {
		all = all.plus(table{1, rowText + pairText(rule.APIGroups, rule.Resources) + listText(rule.Verbs) + listText(rule.NonResourceURLs) + listText(rule.ResourceNames)})
	}
	return all
}

// clusterRoleTable counts selectors of other ClusterRoles as rules: they stand for rules that are not in the bundle.
func clusterRoleTable(role *rbacv1.ClusterRole) table {
	all := roleTable(role.Rules)
	if role.AggregationRule == nil {
		return all
	}
	for _, selector := range role.AggregationRule.ClusterRoleSelectors {
		all = all.plus(table{1, rowText + selectorText(selector)})
	}
	return all
}

func selectorText(selector metav1.LabelSelector) int {
	bytes := mapText(selector.MatchLabels)
	for _, e := range selector.MatchExpressions {
		bytes += len(e.Key) + len(e.Operator) + listText(e.Values) + separator
	}
	return bytes
}

func mapText(values map[string]string) (bytes int) {
	for key, value := range values {
		bytes += len(key) + len(value) + separator
	}
	return bytes
}

// separator is how many bytes stand between two items of a list at most.
const separator = 4

func listText(items []string) (bytes int) {
	for _, item := range items {
		bytes += len(item) + separator
	}
	return bytes
}

// pairText is the text of each item of one list with each of another.
func pairText(some, others []string) int {
	return min(times(len(some), listText(others))+times(len(others), listText(some)), enough)
}

// times returns a product of two lengths, or enough where it is larger.
func times(a, b int) int {
	if b > 0 && a > enough/b {
		return enough
	}
	return a * b
}
