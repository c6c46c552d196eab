package render

import (
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/permissions"
)

// Some servers read their certificate through the API.
func secretAccess(in Input, secretName string, pod corev1.PodSpec) (*rbacv1.Role, *rbacv1.RoleBinding) {
	rule := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{secretName}, Verbs: []string{"get"}}
	return grant(in.CSV, secretName, rule, csvspec.ServiceAccountOf(pod))
}

func grant(csv *operatorsv1alpha1.ClusterServiceVersion, name string, rule rbacv1.PolicyRule, accounts ...string) (*rbacv1.Role, *rbacv1.RoleBinding) {
	role := &rbacv1.Role{TypeMeta: permissions.RBACType("Role"), ObjectMeta: csvspec.OwnedMeta(csv, name), Rules: []rbacv1.PolicyRule{rule}}
	return role, &rbacv1.RoleBinding{
		TypeMeta: permissions.RBACType("RoleBinding"), ObjectMeta: csvspec.OwnedMeta(csv, name), Subjects: permissions.Subjects(csv.Namespace, accounts...),
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
	}
}

// The bindings are outside of the namespace: their labels record the owner, and the finalizer removes them.
func delegation(in Input, spec operatorsv1alpha1.StrategyDeploymentSpec) (*rbacv1.ClusterRoleBinding, *rbacv1.RoleBinding) {
	is := in.Delegations[spec.Name]
	account := permissions.Subjects(in.CSV.Namespace, csvspec.ServiceAccountOf(spec.Spec.Template.Spec))
	delegator := &rbacv1.ClusterRoleBinding{
		TypeMeta:   permissions.RBACType("ClusterRoleBinding"),
		ObjectMeta: metav1.ObjectMeta{Name: is.Delegator, Labels: csvspec.OwnerLabels(in.CSV)},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: permissions.AuthDelegator},
		Subjects:   account,
	}
	reader := &rbacv1.RoleBinding{
		TypeMeta:   permissions.RBACType("RoleBinding"),
		ObjectMeta: metav1.ObjectMeta{Namespace: permissions.AuthReaderNamespace, Name: is.Reader, Labels: csvspec.OwnerLabels(in.CSV)},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: permissions.AuthReader},
		Subjects:   account,
	}
	return delegator, reader
}
