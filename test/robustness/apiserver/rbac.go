package apiserver

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/kubernetes/pkg/registry/rbac/clusterrole"
	clusterrolechecks "k8s.io/kubernetes/pkg/registry/rbac/clusterrole/policybased"
	clusterroles "k8s.io/kubernetes/pkg/registry/rbac/clusterrole/storage"
	"k8s.io/kubernetes/pkg/registry/rbac/clusterrolebinding"
	clusterrolebindingchecks "k8s.io/kubernetes/pkg/registry/rbac/clusterrolebinding/policybased"
	clusterrolebindings "k8s.io/kubernetes/pkg/registry/rbac/clusterrolebinding/storage"
	"k8s.io/kubernetes/pkg/registry/rbac/role"
	rolechecks "k8s.io/kubernetes/pkg/registry/rbac/role/policybased"
	roles "k8s.io/kubernetes/pkg/registry/rbac/role/storage"
	"k8s.io/kubernetes/pkg/registry/rbac/rolebinding"
	rolebindingchecks "k8s.io/kubernetes/pkg/registry/rbac/rolebinding/policybased"
	rolebindings "k8s.io/kubernetes/pkg/registry/rbac/rolebinding/storage"
	"k8s.io/kubernetes/pkg/registry/rbac/validation"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac"
)

// RBAC authorizes as kube-apiserver does, with the roles and bindings in the cluster. There are no predefined ones.
var RBAC authorizer.Authorizer = byRoles{}

// roleAuthorizer is set by addRBAC.
var roleAuthorizer *rbac.RBACAuthorizer

type byRoles struct{}

func (byRoles) Authorize(ctx context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	return roleAuthorizer.Authorize(ctx, a)
}

// authority asks the authorizer of the cluster to which a request belongs.
type authority struct{}

func (authority) Authorize(ctx context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	cluster := serverFrom(ctx).cluster
	if cluster.Authorizer == nil || a.GetUser() != nil && slices.Contains(a.GetUser().GetGroups(), user.SystemPrivilegedGroup) {
		return authorizer.DecisionAllow, "", nil
	}
	return cluster.Authorizer.Authorize(ctx, a)
}

// addRBAC adds roles and bindings with the check that a user grants only what the user has.
func addRBAC(options builtIn, add addFunc) {
	const group = "rbac.authorization.k8s.io"
	roleStore, err := roles.NewREST(options)
	add(group, nil, err)
	roleBindingStore, err := rolebindings.NewREST(options)
	add(group, nil, err)
	clusterRoleStore, err := clusterroles.NewREST(options)
	add(group, nil, err)
	clusterRoleBindingStore, err := clusterrolebindings.NewREST(options)
	add(group, nil, err)
	roleGetter := role.AuthorizerAdapter{Registry: role.NewRegistry(roleStore)}
	roleBindingLister := rolebinding.AuthorizerAdapter{Registry: rolebinding.NewRegistry(roleBindingStore)}
	clusterRoleGetter := clusterrole.AuthorizerAdapter{Registry: clusterrole.NewRegistry(clusterRoleStore)}
	clusterRoleBindingLister := clusterrolebinding.AuthorizerAdapter{Registry: clusterrolebinding.NewRegistry(clusterRoleBindingStore)}
	roleAuthorizer = rbac.New(roleGetter, roleBindingLister, clusterRoleGetter, clusterRoleBindingLister)
	rules := validation.NewDefaultRuleResolver(roleGetter, roleBindingLister, clusterRoleGetter, clusterRoleBindingLister)
	add(group, storages{
		"roles":               rolechecks.NewStorage(roleStore, authority{}, rules),
		"rolebindings":        rolebindingchecks.NewStorage(roleBindingStore, authority{}, rules),
		"clusterroles":        clusterrolechecks.NewStorage(clusterRoleStore, authority{}, rules),
		"clusterrolebindings": clusterrolebindingchecks.NewStorage(clusterRoleBindingStore, authority{}, rules),
	}, nil)
}

// missing finds nothing: tokens are not simulated.
type missing struct{}

func (missing) Get(_ context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	return nil, apierrors.NewNotFound(schema.GroupResource{}, name)
}
