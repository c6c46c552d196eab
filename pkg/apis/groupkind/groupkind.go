// Package groupkind names the kinds of objects that the commands treat in a special way. A kind is
// known by its API group and its name: another group may have a kind of the same name.
package groupkind

import "k8s.io/apimachinery/pkg/runtime/schema"

// The kinds that the commands treat in a special way.
var (
	Namespace                = schema.GroupKind{Kind: "Namespace"}
	ConfigMap                = schema.GroupKind{Kind: "ConfigMap"}
	Service                  = schema.GroupKind{Kind: "Service"}
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
