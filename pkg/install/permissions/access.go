// Package permissions compares what ServiceAccounts may do with what a ClusterServiceVersion asks for, and
// renders the RBAC objects that grant it.
package permissions

import (
	"maps"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/auth/rbac/validation"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
)

// Access is what the ServiceAccounts of a ClusterServiceVersion may do.
type Access struct {
	// Everywhere are the rules that ClusterRoleBindings grant, by ServiceAccount.
	Everywhere map[string][]rbacv1.PolicyRule
	// In are those that RoleBindings grant, by namespace and ServiceAccount.
	In map[string]map[string][]rbacv1.PolicyRule
}

// lacking are the namespaces in which nothing grants a rule. It is Kubernetes' own
// evaluation: however the grant is worded, what counts is what it covers.
func (a Access) Lacking(account string, rule rbacv1.PolicyRule, namespaces []string) []string {
	if Covers(a.Everywhere[account], rule) {
		return nil
	}
	var lacking []string
	for _, namespace := range namespaces {
		if !Covers(slices.Concat(a.Everywhere[account], a.In[namespace][account]), rule) {
			lacking = append(lacking, namespace)
		}
	}
	return lacking
}

// With adds what lifted bindings grant by lifted roles, as both are now. A role that is not among
// them counts for nothing: its rules are those of another client.
func (a Access) With(namespace string, lifted []metav1.Object) Access {
	with := Access{Everywhere: maps.Clone(a.Everywhere), In: map[string]map[string][]rbacv1.PolicyRule{}}
	for in, of := range a.In {
		with.In[in] = maps.Clone(of)
	}
	for _, o := range lifted {
		switch b := o.(type) {
		case *rbacv1.ClusterRoleBinding:
			with.grant(namespace, metav1.NamespaceAll, b.Subjects, RulesOf(lifted, metav1.NamespaceAll, b.RoleRef))
		case *rbacv1.RoleBinding:
			with.grant(namespace, b.Namespace, b.Subjects, RulesOf(lifted, b.Namespace, b.RoleRef))
		}
	}
	return with
}

// grant adds rules for the ServiceAccounts of a namespace.
func (a Access) grant(namespace, in string, subjects []rbacv1.Subject, rules []rbacv1.PolicyRule) {
	of := a.Everywhere
	if in != metav1.NamespaceAll {
		if a.In[in] == nil {
			a.In[in] = map[string][]rbacv1.PolicyRule{}
		}
		of = a.In[in]
	}
	for _, subject := range subjects {
		if subject.Kind == rbacv1.ServiceAccountKind && subject.Namespace == namespace {
			of[subject.Name] = slices.Concat(of[subject.Name], rules)
		}
	}
}

// RulesOf are the rules of the role among some objects that a binding in a namespace refers to;
// none when it is not among them.
func RulesOf(objects []metav1.Object, namespace string, ref rbacv1.RoleRef) []rbacv1.PolicyRule {
	for _, o := range objects {
		switch role := o.(type) {
		case *rbacv1.ClusterRole:
			if ref.Kind == "ClusterRole" && role.Name == ref.Name {
				return role.Rules
			}
		case *rbacv1.Role:
			if ref.Kind == "Role" && role.Namespace == namespace && role.Name == ref.Name {
				return role.Rules
			}
		}
	}
	return nil
}

// BindsRulesOf reports whether a binding refers to a role that has the rules which it is to have:
// the same among the objects that exist as among those that are desired.
func BindsRulesOf(binding metav1.Object, desired, live []metav1.Object) bool {
	var ref rbacv1.RoleRef
	switch b := binding.(type) {
	case *rbacv1.ClusterRoleBinding:
		ref = b.RoleRef
	case *rbacv1.RoleBinding:
		ref = b.RoleRef
	}
	rules := RulesOf(desired, binding.GetNamespace(), ref)
	return len(rules) > 0 && equality.Semantic.DeepEqual(rules, RulesOf(live, binding.GetNamespace(), ref))
}

// covers reports whether granted rules permit all that a rule does. The library compares each combination
// of the rule's lists: a rule with too many counts as not covered.
func Covers(granted []rbacv1.PolicyRule, rule rbacv1.PolicyRule) bool {
	if csvspec.GrantCombinations(rule) > csvspec.MaxGrants {
		return false
	}
	covered, _ := validation.Covers(granted, []rbacv1.PolicyRule{rule})
	return covered
}

// GrantedIn are the namespaces in which the namespaced permissions of a
// ClusterServiceVersion have to be granted: its own, where OLM v0 looks, and those
// that its OperatorGroup targets. [""] is everywhere.
func GrantedIn(namespace string, targets []string) []string {
	if slices.Contains(targets, metav1.NamespaceAll) {
		return []string{metav1.NamespaceAll}
	}
	all := append([]string{namespace}, targets...)
	slices.Sort(all)
	return slices.Compact(all)
}

const serviceAccountGroup = "system:serviceaccounts"

// SubjectsOf are all the subjects by which a binding can mean a ServiceAccount, as
// SubjectKeys names them.
func SubjectsOf(namespace, account string) []string {
	return []string{
		subjectKey(rbacv1.ServiceAccountKind, namespace, account),
		subjectKey(rbacv1.UserKind, "", "system:serviceaccount:"+namespace+":"+account),
		subjectKey(rbacv1.GroupKind, "", serviceAccountGroup+":"+namespace),
		subjectKey(rbacv1.GroupKind, "", serviceAccountGroup),
		subjectKey(rbacv1.GroupKind, "", "system:authenticated"),
	}
}

// SubjectKeys name the subjects of a binding.
func SubjectKeys(subjects []rbacv1.Subject) []string {
	var keys []string
	for _, s := range subjects {
		keys = append(keys, subjectKey(s.Kind, s.Namespace, s.Name))
	}
	return keys
}

func subjectKey(kind, namespace, name string) string { return kind + "/" + namespace + "/" + name }
