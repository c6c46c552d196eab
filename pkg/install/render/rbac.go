package render

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
)

// secretAccess lets a Deployment's ServiceAccount read the Secret with its serving
// certificate, for servers that fetch it through the API instead of the volume.
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

// serviceAccountOf is the ServiceAccount of pods, as the subject of a binding.
func serviceAccountOf(in Input, pod corev1.PodSpec) []rbacv1.Subject {
	account := cmp.Or(pod.ServiceAccountName, pod.DeprecatedServiceAccount, "default")
	return []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: account, Namespace: in.CSV.Namespace}}
}
