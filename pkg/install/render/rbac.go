package render

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/permissions"
)

// secretAccess allows a ServiceAccount to read the Secret with its serving certificate, for servers
// that read it through the API.
func secretAccess(in Input, secretName string, pod corev1.PodSpec) (*rbacv1.Role, *rbacv1.RoleBinding) {
	role := &rbacv1.Role{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "Role"},
		ObjectMeta: csvspec.OwnedMeta(in.CSV, secretName),
		Rules: []rbacv1.PolicyRule{{
			APIGroups:     []string{""},
			Resources:     []string{"secrets"},
			ResourceNames: []string{secretName},
			Verbs:         []string{"get"},
		}},
	}
	binding := &rbacv1.RoleBinding{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "RoleBinding"},
		ObjectMeta: csvspec.OwnedMeta(in.CSV, secretName),
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: secretName},
		Subjects:   serviceAccountOf(in, pod),
	}
	return role, binding
}

func serviceAccountOf(in Input, pod corev1.PodSpec) []rbacv1.Subject {
	account := cmp.Or(pod.ServiceAccountName, pod.DeprecatedServiceAccount, "default")
	return []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: account, Namespace: in.CSV.Namespace}}
}

// delegation returns the bindings by which a ServiceAccount can authenticate and authorize callers.
// They are outside of its namespace and have no owner reference. The labels record the owner, and
// the finalizer removes them.
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
