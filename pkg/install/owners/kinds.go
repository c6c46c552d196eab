package owners

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
)

// Kind is a kind of objects that CRDs may own (see DefinitionOwners).
type Kind struct {
	Name     string
	Resource schema.GroupVersionResource
}

// GroupKind returns the kind with its API group.
func (k Kind) GroupKind() schema.GroupKind {
	return schema.GroupKind{Group: k.Resource.Group, Kind: k.Name}
}

// The kinds of what converts, and of what its pods need.
var (
	Deployments        = Kind{"Deployment", appsv1.SchemeGroupVersion.WithResource("deployments")}
	Services           = Kind{"Service", corev1.SchemeGroupVersion.WithResource("services")}
	Secrets            = Kind{"Secret", corev1.SchemeGroupVersion.WithResource("secrets")}
	RoleBindings       = Kind{"RoleBinding", rbacv1.SchemeGroupVersion.WithResource("rolebindings")}
	Roles              = Kind{"Role", rbacv1.SchemeGroupVersion.WithResource("roles")}
	ServiceAccounts    = Kind{"ServiceAccount", corev1.SchemeGroupVersion.WithResource("serviceaccounts")}
	OperatorConditions = Kind{"OperatorCondition", operatorsv2.GroupVersion.WithResource("operatorconditions")}

	// Kinds are all of them, in the order of their writes: Deployments must keep running.
	Kinds = []Kind{Deployments, Services, Secrets, RoleBindings, Roles, ServiceAccounts, OperatorConditions}
)
