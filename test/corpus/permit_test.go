package corpus

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
)

// permit does the part of an installer that grants a bundle's ServiceAccounts what it
// asks for: where its OperatorGroup targets all namespaces, everything in the whole cluster.
func (e *env) permit(ctx context.Context, namespace string, b bundle) error {
	for _, account := range csvspec.ServiceAccounts(b.csv) {
		_, err := e.Kube.CoreV1().ServiceAccounts(namespace).Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: account}}, metav1.CreateOptions{})
		if err != nil {
			return err
		}
	}
	strategy := b.csv.Spec.InstallStrategy.StrategySpec
	for _, p := range strategy.ClusterPermissions {
		if err := e.grantEverywhere(ctx, namespace, p); err != nil {
			return err
		}
	}
	for _, p := range strategy.Permissions {
		grant := e.grantHere
		if b.allNamespaces() {
			grant = e.grantEverywhere
		}
		if err := grant(ctx, namespace, p); err != nil {
			return err
		}
	}
	return nil
}

func (e *env) grantEverywhere(ctx context.Context, namespace string, p operatorsv1alpha1.StrategyDeploymentPermissions) error {
	role, err := e.Kube.RbacV1().ClusterRoles().Create(ctx, &rbacv1.ClusterRole{ObjectMeta: generated(p), Rules: p.Rules}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	_, err = e.Kube.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: generated(p), RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name}, Subjects: subject(namespace, p),
	}, metav1.CreateOptions{})
	return err
}

func (e *env) grantHere(ctx context.Context, namespace string, p operatorsv1alpha1.StrategyDeploymentPermissions) error {
	role, err := e.Kube.RbacV1().Roles(namespace).Create(ctx, &rbacv1.Role{ObjectMeta: generated(p), Rules: p.Rules}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	_, err = e.Kube.RbacV1().RoleBindings(namespace).Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: generated(p), RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name}, Subjects: subject(namespace, p),
	}, metav1.CreateOptions{})
	return err
}

func generated(p operatorsv1alpha1.StrategyDeploymentPermissions) metav1.ObjectMeta {
	return metav1.ObjectMeta{GenerateName: p.ServiceAccountName + "-"}
}

func subject(namespace string, p operatorsv1alpha1.StrategyDeploymentPermissions) []rbacv1.Subject {
	return []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: p.ServiceAccountName}}
}
