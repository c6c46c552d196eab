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

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
)

// Access is what the ServiceAccounts of a ClusterServiceVersion may do.
type Access struct {
	// Everywhere has the rules that ClusterRoleBindings grant, by ServiceAccount.
	Everywhere map[string][]rbacv1.PolicyRule
	// In has the rules that RoleBindings grant, by namespace and ServiceAccount.
	In map[string]map[string][]rbacv1.PolicyRule
}

// Lacking returns the namespaces in which a rule is not granted, in any form, as Kubernetes evaluates.
func (a Access) Lacking(account string, rule rbacv1.PolicyRule, namespaces []string) []string {
	if Covers(a.Everywhere[account], rule) {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(namespaces), func(namespace string) bool {
		return Covers(slices.Concat(a.Everywhere[account], a.In[namespace][account]), rule)
	})
}

// With adds lifted bindings. It ignores a role that is not in the list, which belongs to another client.
func (a Access) With(namespace string, lifted []metav1.Object) Access {
	with := Access{Everywhere: map[string][]rbacv1.PolicyRule{}, In: map[string]map[string][]rbacv1.PolicyRule{}}
	maps.Copy(with.Everywhere, a.Everywhere)
	for in, of := range a.In {
		with.In[in] = maps.Clone(of)
	}
	for _, o := range lifted {
		role, subjects := Bound(o)
		with.grant(namespace, o.GetNamespace(), subjects, rulesOf(lifted, o.GetNamespace(), role))
	}
	return with
}

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

// None if the role is not in the list.
func rulesOf(objects []metav1.Object, namespace string, ref rbacv1.RoleRef) []rbacv1.PolicyRule {
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

// BindsRulesOf reports whether the role of a binding has the desired rules.
func BindsRulesOf(binding metav1.Object, desired, live []metav1.Object) bool {
	role, _ := Bound(binding)
	rules := rulesOf(desired, binding.GetNamespace(), role)
	return len(rules) > 0 && equality.Semantic.DeepEqual(rules, rulesOf(live, binding.GetNamespace(), role))
}

// RulesOf returns the rules of a role; none for any other object.
func RulesOf(o metav1.Object) []rbacv1.PolicyRule {
	switch role := o.(type) {
	case *rbacv1.ClusterRole:
		return role.Rules
	case *rbacv1.Role:
		return role.Rules
	default:
		return nil
	}
}

// Bound returns the role and the subjects of a binding; none for any other object.
func Bound(o metav1.Object) (role rbacv1.RoleRef, subjects []rbacv1.Subject) {
	switch b := o.(type) {
	case *rbacv1.ClusterRoleBinding:
		return b.RoleRef, b.Subjects
	case *rbacv1.RoleBinding:
		return b.RoleRef, b.Subjects
	default:
		return rbacv1.RoleRef{}, nil
	}
}

// Covers compares each combination. A rule with too many of them counts as not covered.
func Covers(granted []rbacv1.PolicyRule, rule rbacv1.PolicyRule) bool {
	if csvspec.GrantCombinations(rule) > csvspec.MaxGrants {
		return false
	}
	covered, _ := validation.Covers(granted, []rbacv1.PolicyRule{rule})
	return covered
}

// GrantedIn returns a CSV's own namespace, as in OLM v0, and the targets. [""] is all namespaces.
func GrantedIn(namespace string, targets []string) []string {
	if slices.Contains(targets, metav1.NamespaceAll) {
		return []string{metav1.NamespaceAll}
	}
	return lists.Sorted(append([]string{namespace}, targets...))
}

const serviceAccountGroup = "system:serviceaccounts"

// SubjectsOf returns the keys of all subjects by which a binding can refer to a ServiceAccount.
func SubjectsOf(namespace, account string) []string {
	return []string{
		subjectKey(rbacv1.ServiceAccountKind, namespace, account),
		subjectKey(rbacv1.UserKind, "", "system:serviceaccount:"+namespace+":"+account),
		subjectKey(rbacv1.GroupKind, "", serviceAccountGroup+":"+namespace),
		subjectKey(rbacv1.GroupKind, "", serviceAccountGroup),
		subjectKey(rbacv1.GroupKind, "", "system:authenticated"),
	}
}

// SubjectKeys returns the keys of the subjects of a binding.
func SubjectKeys(subjects []rbacv1.Subject) []string {
	return lists.Map(subjects, func(s rbacv1.Subject) string { return subjectKey(s.Kind, s.Namespace, s.Name) })
}

func subjectKey(kind, namespace, name string) string { return kind + "/" + namespace + "/" + name }
