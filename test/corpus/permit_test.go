package corpus

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// permit does the part of an installer that grants a bundle's ServiceAccounts what it
// asks for: where its OperatorGroup targets all namespaces, everything in the whole cluster.
func (e *env) permit(t *testing.T, namespace string, b bundle) {
	t.Helper()
	for _, account := range csvspec.ServiceAccounts(b.csv) {
		kube.Create(t, e.Kube.CoreV1().ServiceAccounts(namespace), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: account}})
	}
	strategy := b.csv.Spec.InstallStrategy.StrategySpec
	for _, p := range strategy.ClusterPermissions {
		e.grantEverywhere(t, namespace, p)
	}
	for _, p := range strategy.Permissions {
		grant := e.grantHere
		if b.allNamespaces() {
			grant = e.grantEverywhere
		}
		grant(t, namespace, p)
	}
}

func (e *env) grantEverywhere(t *testing.T, namespace string, p operatorsv1alpha1.StrategyDeploymentPermissions) {
	t.Helper()
	role := kube.Create(t, e.Kube.RbacV1().ClusterRoles(), &rbacv1.ClusterRole{ObjectMeta: generated(p), Rules: p.Rules})
	kube.Create(t, e.Kube.RbacV1().ClusterRoleBindings(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: generated(p), RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name}, Subjects: subject(namespace, p),
	})
}

func (e *env) grantHere(t *testing.T, namespace string, p operatorsv1alpha1.StrategyDeploymentPermissions) {
	t.Helper()
	role := kube.Create(t, e.Kube.RbacV1().Roles(namespace), &rbacv1.Role{ObjectMeta: generated(p), Rules: p.Rules})
	kube.Create(t, e.Kube.RbacV1().RoleBindings(namespace), &rbacv1.RoleBinding{
		ObjectMeta: generated(p), RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name}, Subjects: subject(namespace, p),
	})
}

func generated(p operatorsv1alpha1.StrategyDeploymentPermissions) metav1.ObjectMeta {
	return metav1.ObjectMeta{GenerateName: p.ServiceAccountName + "-"}
}

func subject(namespace string, p operatorsv1alpha1.StrategyDeploymentPermissions) []rbacv1.Subject {
	return []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: p.ServiceAccountName}}
}
