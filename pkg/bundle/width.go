package bundle

import (
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install"
)

// refuseWide reports rules whose lists have too many combinations: lists of 20,000 items each fit into a small
// file. It returns whether there are none.
func (b *Bundle) refuseWide(o *Object, typed any) bool {
	path, limit := "rules", install.MaxGrants
	total := 0
	switch typed := typed.(type) {
	case *operatorsv1alpha1.ClusterServiceVersion:
		if narrow := install.Narrow(typed); narrow < len(typed.Spec.WebhookDefinitions) {
			b.wide(o, fmt.Sprintf("spec.webhookdefinitions[%d].rules", narrow), install.MaxCombinations)
			return false
		}
		path, total = "spec.install.spec", install.PermissionCombinations(typed)
	case *rbacv1.Role:
		total = grants(typed.Rules)
	case *rbacv1.ClusterRole:
		total = grants(typed.Rules)
	case *admissionregistrationv1.ValidatingWebhookConfiguration:
		path, limit = "webhooks", install.MaxCombinations
		for _, w := range typed.Webhooks {
			total += combinations(w.Rules, limit)
		}
	case *admissionregistrationv1.MutatingWebhookConfiguration:
		path, limit = "webhooks", install.MaxCombinations
		for _, w := range typed.Webhooks {
			total += combinations(w.Rules, limit)
		}
	}
	if total > limit {
		b.wide(o, path, limit)
	}
	return total <= limit
}

func (b *Bundle) wide(o *Object, path string, limit int) {
	b.problemAt(TooWide, o, path, fmt.Sprintf("has rules with more than %d combinations of what their lists name", limit), "name fewer in each rule")
}

func grants(rules []rbacv1.PolicyRule) (total int) {
	for _, rule := range rules {
		total = min(total+install.GrantCombinations(rule), install.MaxGrants+1)
	}
	return total
}

func combinations(rules []admissionregistrationv1.RuleWithOperations, limit int) (total int) {
	for _, rule := range rules {
		total = min(total+install.Combinations(rule), limit+1)
	}
	return total
}

// maxBound is how many rules the bindings of a bundle may give, each once for each subject.
const maxBound = 10_000

// refuseBound reports the binding with which the bindings give too many rules to too many subjects.
func (b *Bundle) refuseBound() {
	rules := map[rbacv1.RoleRef]int{}
	for _, o := range b.Objects {
		switch role := o.Typed.(type) {
		case *rbacv1.Role:
			rules[refTo("Role", role.Name)] += len(role.Rules)
		case *rbacv1.ClusterRole:
			rules[refTo("ClusterRole", role.Name)] += len(role.Rules)
		}
	}
	total := 0
	for _, o := range b.Objects {
		var subjects []rbacv1.Subject
		var ref rbacv1.RoleRef
		switch binding := o.Typed.(type) {
		case *rbacv1.RoleBinding:
			subjects, ref = binding.Subjects, binding.RoleRef
		case *rbacv1.ClusterRoleBinding:
			subjects, ref = binding.Subjects, binding.RoleRef
		}
		if total += len(subjects) * max(1, rules[refTo(ref.Kind, ref.Name)]); total > maxBound {
			b.problemAt(TooWide, o, "subjects", fmt.Sprintf("and the bindings before it give more than %d rules, each counted for each subject", maxBound), "bind a group, or fewer subjects")
			return
		}
	}
}

func refTo(kind, name string) rbacv1.RoleRef { return rbacv1.RoleRef{Kind: kind, Name: name} }
