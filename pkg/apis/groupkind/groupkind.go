// Package groupkind names the kinds of objects that the program treats in a special way. A kind is
// known by its API group and its name: another group may have a kind of the same name.
package groupkind

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The kinds that the program treats in a special way.
var (
	Namespace                = schema.GroupKind{Kind: "Namespace"}
	ConfigMap                = schema.GroupKind{Kind: "ConfigMap"}
	Service                  = schema.GroupKind{Kind: "Service"}
	ReplicaSet               = schema.GroupKind{Group: "apps", Kind: "ReplicaSet"}
	ServiceAccount           = schema.GroupKind{Kind: "ServiceAccount"}
	CustomResourceDefinition = schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
	ClusterServiceVersion    = schema.GroupKind{Group: "operators.coreos.com", Kind: "ClusterServiceVersion"}
	OperatorGroup            = schema.GroupKind{Group: "operators.coreos.com", Kind: "OperatorGroup"}
	Subscription             = schema.GroupKind{Group: "operators.coreos.com", Kind: "Subscription"}
)

// Object is anything that states its kind.
type Object interface {
	GroupVersionKind() schema.GroupVersionKind
}

// Of returns the kind of an object, without its version.
func Of(o Object) schema.GroupKind { return o.GroupVersionKind().GroupKind() }

// Is reports whether an object is of a kind.
func Is(o Object, kind schema.GroupKind) bool { return Of(o) == kind }

// OfOwner returns the kind of an owner, without its version.
func OfOwner(owner metav1.OwnerReference) schema.GroupKind {
	return schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).GroupKind() //nolint:forbidigo // With the group.
}

// IsOwner reports whether an owner is of a kind.
func IsOwner(owner metav1.OwnerReference, kind schema.GroupKind) bool { return OfOwner(owner) == kind }
