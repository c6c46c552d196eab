package apiserver

import (
	"context"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// With RBAC, a ServiceAccount may do what a role grants, and SelfSubjectAccessReview reports it.
func TestRBAC(t *testing.T) {
	inCluster(t, 1, func(ctx context.Context, t *testing.T, c *Cluster) {
		c.Authorizer = RBAC
		admin := clientOf(t, c, 0, Admin).RbacV1()
		limited := clientOf(t, c, 0, "system:serviceaccount:shop:limited")
		secrets := limited.CoreV1().Secrets("shop")
		if err := create(ctx, secrets, "a"); !apierrors.IsForbidden(err) {
			t.Error("without a role:", err)
		}
		rules := []rbacv1.PolicyRule{{Verbs: []string{"create"}, APIGroups: []string{""}, Resources: []string{"secrets"}}}
		_, err := admin.Roles("shop").Create(ctx, &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "r"}, Rules: rules}, metav1.CreateOptions{})
		must(t, err)
		_, err = admin.RoleBindings("shop").Create(ctx, &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "b"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "r"},
			Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "shop", Name: "limited"}},
		}, metav1.CreateOptions{})
		must(t, err)
		must(t, create(ctx, secrets, "a"))
		reviews := []rbacv1.PolicyRule{{Verbs: []string{"create"}, APIGroups: []string{"authorization.k8s.io"}, Resources: []string{"selfsubjectaccessreviews"}}}
		_, err = admin.ClusterRoles().Create(ctx, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "system:basic-user"}, Rules: reviews}, metav1.CreateOptions{})
		must(t, err)
		_, err = admin.ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "system:basic-user"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "system:basic-user"},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "Group", Name: "system:authenticated"}},
		}, metav1.CreateOptions{})
		must(t, err)
		for verb, want := range map[string]bool{"create": true, "delete": false} {
			review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
				ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: "shop", Verb: verb, Resource: "secrets"},
			}}
			answer, err := limited.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
			must(t, err)
			if answer.Status.Allowed != want {
				t.Errorf("%s is allowed: %v", verb, answer.Status.Allowed)
			}
		}
	})
}
