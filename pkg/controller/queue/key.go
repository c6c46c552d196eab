// Package queue holds the keys of the objects that wait for a reconciliation.
package queue

// Kind is the kind of the object that a key names.
type Kind string

// The kinds.
const (
	CSV           Kind = "ClusterServiceVersion"
	OperatorGroup Kind = "OperatorGroup"
	Namespace     Kind = "Namespace" // for the labels of OperatorGroups
)

// Key identifies an object to reconcile.
type Key struct {
	Kind            Kind
	Namespace, Name string
}

// Fields returns the fields that identify the object in log lines.
func (k Key) Fields() map[string]any {
	switch k.Kind {
	case CSV:
		return map[string]any{"csv": k.Name, "namespace": k.Namespace}
	case OperatorGroup:
		return map[string]any{"operatorgroup": k.Name, "namespace": k.Namespace}
	default:
		return map[string]any{"namespace": k.Name}
	}
}

// CSVKey returns the key of a ClusterServiceVersion.
func CSVKey(namespace, name string) Key { return Key{CSV, namespace, name} }

// GroupKey returns the key of an OperatorGroup.
func GroupKey(namespace, name string) Key { return Key{OperatorGroup, namespace, name} }

// NamespaceKey returns the key of a Namespace.
func NamespaceKey(name string) Key { return Key{Kind: Namespace, Name: name} }
