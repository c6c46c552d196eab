package permissions

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
)

// What Kubernetes offers the server of an APIService, so that it can find out who calls it
// and what he may do.
const (
	AuthDelegator       = "system:auth-delegator"
	AuthReader          = "extension-apiserver-authentication-reader"
	AuthReaderNamespace = metav1.NamespaceSystem
)

// Delegation are the names of a Deployment's bindings to both.
type Delegation struct {
	Delegator, Reader string
}

// UsualDelegation has the names that OLM v0 gives. They say nothing of the namespace, though
// both bindings live outside of it: of two Services of one name one has AlternateDelegation.
func UsualDelegation(service string) Delegation {
	return Delegation{Delegator: names.AuthDelegator(service), Reader: names.AuthReader(service)}
}

// AlternateDelegation has names for a binding where somebody else's has the usual one. It
// stays the alternate as long as it exists.
func AlternateDelegation(namespace, service string) Delegation {
	return Delegation{Delegator: names.AuthDelegatorIn(namespace, service), Reader: names.AuthReaderIn(namespace, service)}
}

// Delegates tells whether a binding is one of these two, whoever made it.
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

// DelegatesTo tells whether a binding is one of these two, and gives what it gives to
// ServiceAccounts of one namespace alone: of a Deployment there.
func DelegatesTo(o metav1.Object, namespace string) bool {
	var subjects []rbacv1.Subject
	switch o := o.(type) {
	case *rbacv1.ClusterRoleBinding:
		subjects = o.Subjects
	case *rbacv1.RoleBinding:
		subjects = o.Subjects
	}
	elsewhere := func(s rbacv1.Subject) bool { return s.Kind != rbacv1.ServiceAccountKind || s.Namespace != namespace }
	return Delegates(o) && !slices.ContainsFunc(subjects, elsewhere)
}
