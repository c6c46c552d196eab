package install

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/auth/rbac/validation"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
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
func (a Access) lacking(account string, rule rbacv1.PolicyRule, namespaces []string) []string {
	if covers(a.Everywhere[account], rule) {
		return nil
	}
	var lacking []string
	for _, namespace := range namespaces {
		if !covers(slices.Concat(a.Everywhere[account], a.In[namespace][account]), rule) {
			lacking = append(lacking, namespace)
		}
	}
	return lacking
}

func covers(granted []rbacv1.PolicyRule, rule rbacv1.PolicyRule) bool {
	covered, _ := validation.Covers(granted, []rbacv1.PolicyRule{rule})
	return covered
}

// RequiredAccounts are the names of the ServiceAccounts that the permissions of a
// ClusterServiceVersion speak of, each once, in the order of their first mention.
func RequiredAccounts(csv *operatorsv1alpha1.ClusterServiceVersion) []string {
	strategy := csv.Spec.InstallStrategy.StrategySpec
	var accounts []string
	for _, p := range slices.Concat(strategy.Permissions, strategy.ClusterPermissions) {
		if !slices.Contains(accounts, p.ServiceAccountName) {
			accounts = append(accounts, p.ServiceAccountName)
		}
	}
	return accounts
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
