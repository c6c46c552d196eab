package bundle

import (
	"fmt"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/webhookconfig"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/permissions"
)

// maxText limits the bytes of the rules of a bundle in the form in which commands print them, with each combination
// of their lists. Two lists of 20,000 items each fit into a small file and have 400,000,000 combinations.
const maxText = 4 << 20

// limitCombinations returns false for rules that the manager refuses, or that exceed maxText with those read before.
func (r *reader) limitCombinations(o *Object, typed any) bool {
	if csv, ok := typed.(*operatorsv1alpha1.ClusterServiceVersion); ok {
		if narrow := csvspec.WebhooksWithinLimit(csv); narrow < len(csv.Spec.WebhookDefinitions) {
			return r.tooWide(o, fmt.Sprintf("spec.webhookdefinitions[%d].rules", narrow), fmt.Sprintf("has rules with more than %d combinations of what their lists name", csvspec.MaxCombinations))
		}
		if csvspec.PermissionCombinations(csv) > csvspec.MaxGrants {
			return r.tooWide(o, "spec.install.spec", fmt.Sprintf("has rules with more than %d combinations of what their lists name", csvspec.MaxGrants))
		}
	}
	path, bytes := textOf(o.GetName(), typed)
	if r.text = min(r.text+bytes, unbounded); r.text > maxText {
		return r.tooWide(o, path, fmt.Sprintf("has rules whose lists, with those read before, have more than %d MiB of combinations", maxText>>20))
	}
	return true
}

func (r *reader) tooWide(o *Object, path, detail string) bool {
	r.addFieldProblem(TooWide, o, path, detail, "name fewer in each rule")
	return false
}

// limitGrantedRules counts rules once for each subject and for each ClusterRole that they are given to.
func (r *reader) limitGrantedRules() {
	roles := map[rbacv1.RoleRef]table{}
	for _, role := range Each[*rbacv1.Role](r.Bundle) {
		roles[refTo("Role", role.Name)] = roles[refTo("Role", role.Name)].plus(roleTable(role))
	}
	for _, role := range Each[*rbacv1.ClusterRole](r.Bundle) {
		roles[refTo("ClusterRole", role.Name)] = roles[refTo("ClusterRole", role.Name)].plus(roleTable(role))
	}
	total := 0
	for o, object := range Each[metav1.Object](r.Bundle) {
		path, bytes := givenText(object, roles)
		if total = min(total+bytes, unbounded); total > maxText {
			r.addFieldProblem(TooWide, o, path, fmt.Sprintf("and those of the objects before it give more than %d MiB of rules, each counted for each that it is given to", maxText>>20), "bind a group, or fewer subjects")
			return
		}
	}
}

func givenText(object metav1.Object, roles map[rbacv1.RoleRef]table) (path string, bytes int) {
	if o, ok := object.(*rbacv1.ClusterRole); ok {
		role, labels := roles[refTo("ClusterRole", o.Name)], mapText(o.Labels)
		return "metadata.labels", times(len(o.Labels), role.bytes) + role.with(labels)
	}
	ref, subjects := permissions.Bound(object)
	role := roles[refTo(ref.Kind, ref.Name)]
	for _, s := range subjects {
		bytes = min(bytes+rowText+role.bytes+role.with(len(s.Name)+len(s.Namespace)), unbounded)
	}
	return "subjects", bytes
}

func refTo(kind, name string) rbacv1.RoleRef { return rbacv1.RoleRef{Kind: kind, Name: name} }

const (
	// rowText is how many bytes each rule needs in addition to its own text.
	rowText = 64
	// unbounded is more than any limit, and does not overflow when it is added.
	unbounded = 1 << 30
)

// table is the size of rules with each combination written out. It has a row for each rule.
type table struct{ rows, bytes int }

func (t table) plus(other table) table {
	return table{t.rows + other.rows, min(t.bytes+other.bytes, unbounded)}
}

// with returns how many bytes a text needs that stands in each row.
func (t table) with(text int) int { return times(t.rows, text) }

// textOf returns how many bytes an object's rules have with each combination written out, and their field.
func textOf(name string, typed any) (path string, bytes int) {
	switch o := typed.(type) {
	case *operatorsv1alpha1.ClusterServiceVersion:
		return "spec", textOfCSV(o)
	case *rbacv1.Role, *rbacv1.ClusterRole:
		return "rules", named(roleTable(o.(metav1.Object)), name)
	case *admissionregistrationv1.ValidatingWebhookConfiguration, *admissionregistrationv1.MutatingWebhookConfiguration:
		return "webhooks", named(webhooksTable(o), name)
	case *admissionregistrationv1.ValidatingAdmissionPolicy:
		return "spec.matchConstraints", matchTable(o.Spec.MatchConstraints).bytes
	case *admissionregistrationv1.MutatingAdmissionPolicy:
		return "spec.matchConstraints", matchTable(o.Spec.MatchConstraints).bytes
	default:
		return "", 0
	}
}

func webhooksTable(configuration any) (all table) {
	for _, w := range webhookconfig.Webhooks(configuration) {
		all = all.plus(interceptTable(w.Rules))
	}
	return all
}

func named(t table, name string) int { return t.bytes + t.with(len(name)) }

func textOfCSV(csv *operatorsv1alpha1.ClusterServiceVersion) (bytes int) {
	for _, w := range csv.Spec.WebhookDefinitions {
		bytes = min(bytes+interceptTable(w.Rules).bytes, unbounded)
	}
	strategy := csv.Spec.InstallStrategy.StrategySpec
	for _, p := range slices.Concat(strategy.Permissions, strategy.ClusterPermissions) {
		bytes = min(bytes+named(rulesTable(p.Rules), p.ServiceAccountName), unbounded)
	}
	return bytes
}

func matchTable(m *admissionregistrationv1.MatchResources) table {
	if m == nil {
		return table{}
	}
	return interceptTable(webhookconfig.RulesOf(m))
}

// interceptTable counts the webhook that has the rules as a row, too.
func interceptTable(rules []admissionregistrationv1.RuleWithOperations) table {
	all := table{1, rowText}
	for _, rule := range rules {
		all = all.plus(table{1, rowText + pairText(rule.APIGroups, rule.Resources)})
	}
	return all
}

func rulesTable(rules []rbacv1.PolicyRule) (all table) {
	for _, rule := range rules {
		all = all.plus(table{1, rowText + pairText(rule.APIGroups, rule.Resources) + listText(rule.Verbs) + listText(rule.NonResourceURLs) + listText(rule.ResourceNames)})
	}
	return all
}

// roleTable counts selectors of other ClusterRoles as rules: they stand for rules that are not in the bundle. It is empty
// for an object that is no role.
func roleTable(role metav1.Object) table {
	all := rulesTable(permissions.RulesOf(role))
	if cluster, ok := role.(*rbacv1.ClusterRole); ok && cluster.AggregationRule != nil {
		for _, selector := range cluster.AggregationRule.ClusterRoleSelectors {
			all = all.plus(table{1, rowText + selectorText(selector)})
		}
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
	return min(times(len(some), listText(others))+times(len(others), listText(some)), unbounded)
}

func times(a, b int) int {
	if b > 0 && a > unbounded/b {
		return unbounded
	}
	return a * b
}
