package render

import (
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/permissions"
)

// delegation lets a Deployment's ServiceAccount ask. The bindings cannot have an owner: they
// live outside of its namespace. The labels tell whose they are, and the finalizer removes them.
func delegation(in Input, spec operatorsv1alpha1.StrategyDeploymentSpec) (*rbacv1.ClusterRoleBinding, *rbacv1.RoleBinding) {
	is := in.Delegations[spec.Name]
	subjects := serviceAccountOf(in, spec.Spec.Template.Spec)
	delegator := &rbacv1.ClusterRoleBinding{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRoleBinding"},
		ObjectMeta: metav1.ObjectMeta{Name: is.Delegator, Labels: csvspec.OwnerLabels(in.CSV)},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: permissions.AuthDelegator},
		Subjects:   subjects,
	}
	reader := &rbacv1.RoleBinding{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "RoleBinding"},
		ObjectMeta: metav1.ObjectMeta{Namespace: permissions.AuthReaderNamespace, Name: is.Reader, Labels: csvspec.OwnerLabels(in.CSV)},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: permissions.AuthReader},
		Subjects:   subjects,
	}
	return delegator, reader
}
