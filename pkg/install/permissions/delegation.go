package permissions

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
)

// By these roles of Kubernetes, the server of an APIService authenticates and authorizes its callers.
const (
	AuthDelegator       = "system:auth-delegator"
	AuthReader          = "extension-apiserver-authentication-reader"
	AuthReaderNamespace = metav1.NamespaceSystem
)

// Delegation has the names of the two bindings of a Deployment.
type Delegation struct {
	Delegator, Reader string
}

// UsualDelegation returns the names of OLM v0, which are the same for a Service of that name anywhere.
func UsualDelegation(service string) Delegation {
	return Delegation{Delegator: names.AuthDelegator(service), Reader: names.AuthReader(service)}
}

// AlternateDelegation is used if another client has the usual names, and as long as the bindings exist.
func AlternateDelegation(namespace, service string) Delegation {
	return Delegation{Delegator: names.AuthDelegatorIn(namespace, service), Reader: names.AuthReaderIn(namespace, service)}
}

// Delegates reports whether a binding refers to one of the two roles.
func Delegates(o metav1.Object) bool {
	switch o := o.(type) {
	case *rbacv1.ClusterRoleBinding:
		return o.RoleRef.Kind == "ClusterRole" && o.RoleRef.Name == AuthDelegator
	case *rbacv1.RoleBinding:
		return o.Namespace == AuthReaderNamespace && o.RoleRef.Kind == "Role" && o.RoleRef.Name == AuthReader
	default:
		return false
	}
}

// DelegatesTo also requires that all subjects are ServiceAccounts in one namespace.
func DelegatesTo(o metav1.Object, namespace string) bool {
	_, subjects := Bound(o)
	elsewhere := func(s rbacv1.Subject) bool { return s.Kind != rbacv1.ServiceAccountKind || s.Namespace != namespace }
	return Delegates(o) && !slices.ContainsFunc(subjects, elsewhere)
}
