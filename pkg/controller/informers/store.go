package informers

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/client-go/tools/cache"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/groupkind"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// Store is a typed view of one informer for all namespaces, or one for each.
type Store[T drift.Object] struct {
	Informers []cache.SharedIndexInformer
	Began     time.Time // when it was first requested, if it is filled on demand
}

// NewStore wraps informers. The transform, which may be nil, strips objects.
func NewStore[T drift.Object](transform cache.TransformFunc, informers ...cache.SharedIndexInformer) Store[T] {
	for _, informer := range informers {
		err := informer.AddIndexers(indexers)
		if err == nil && transform != nil {
			err = informer.SetTransform(transform)
		}
		if err != nil {
			panic(err) // only a started informer refuses
		}
	}
	return Store[T]{Informers: informers}
}

// Get returns the object of that name, or nil. The namespace of cluster-scoped objects is "".
func (s Store[T]) Get(namespace, name string) (object T) {
	for _, o := range s.Named(namespace, name) {
		object = o.(T)
	}
	return object
}

// Named returns the object of that name, or no object.
func (s Store[T]) Named(namespace, name string) (objects []drift.Object) {
	key := cache.NewObjectName(namespace, name).String()
	for _, informer := range s.Informers {
		if o, exists, err := informer.GetStore().GetByKey(key); err == nil && exists {
			objects = append(objects, o.(drift.Object))
		}
	}
	return objects
}

// Synced reports whether the informers are filled.
func (s Store[T]) Synced() bool {
	return !slices.ContainsFunc(s.Informers, func(informer cache.SharedIndexInformer) bool { return !informer.HasSynced() })
}

func (s Store[T]) holds(kind drift.Object) bool {
	_, ok := kind.(T)
	return ok
}

// Existing returns the objects that have one of some names, by name.
func (s Store[T]) Existing(namespace string, names []string) map[string]T {
	found := map[string]T{}
	for _, name := range names {
		for _, o := range s.Named(namespace, name) {
			found[name] = o.(T)
		}
	}
	return found
}

// In returns all objects in a namespace.
func (s Store[T]) In(namespace string) []T { return s.By(cache.NamespaceIndex, namespace) }

// OfOwner returns the objects with an owner ID. Their labels alone may name that owner.
func (s Store[T]) OfOwner(owner string) []T { return s.By(ByOwner, owner) }

// OfOwners returns the objects with any of some owner IDs, each once.
func (s Store[T]) OfOwners(owners []string) []T {
	if len(owners) == 1 {
		return s.OfOwner(owners[0])
	}
	all := slices.Concat(lists.Map(owners, s.OfOwner)...)
	return lists.Unique(all, func(o T) string { return o.GetNamespace() + "/" + o.GetName() })
}

// All returns all objects.
func (s Store[T]) All() []T {
	all := slices.Concat(lists.Map(s.Informers, func(informer cache.SharedIndexInformer) []any { return informer.GetStore().List() })...)
	return lists.Map(all, func(o any) T { return o.(T) })
}

// By returns the objects with a value in an index.
func (s Store[T]) By(index, value string) []T {
	var all []any
	for _, informer := range s.Informers {
		objects, err := informer.GetIndexer().ByIndex(index, value)
		if err != nil {
			panic(fmt.Sprintf("index %s: %v", index, err))
		}
		all = append(all, objects...)
	}
	return lists.Map(all, func(o any) T { return o.(T) })
}

// Handler calls changed with both states of an object; nil stands for one that does not exist.
func Handler(changed func(before, after drift.Object)) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) { changed(nil, o.(drift.Object)) },
		UpdateFunc: func(before, after any) {
			changed(before.(drift.Object), after.(drift.Object))
		},
		DeleteFunc: func(o any) {
			if unknown, ok := o.(cache.DeletedFinalStateUnknown); ok {
				o = unknown.Obj
			}
			changed(o.(drift.Object), nil)
		},
	}
}

// OwnerID returns the index value of a ClusterServiceVersion: its namespace and its name as a label value.
func OwnerID(namespace, csv string) string { return namespace + "/" + names.LabelValue(csv) }

// OwnerIDs returns the owner IDs of a ClusterServiceVersion and of the versions that it replaces.
func OwnerIDs(csv *operatorsv1alpha1.ClusterServiceVersion, older []*operatorsv1alpha1.ClusterServiceVersion) []string {
	versions := append([]*operatorsv1alpha1.ClusterServiceVersion{csv}, older...)
	return lists.Map(versions, func(c *operatorsv1alpha1.ClusterServiceVersion) string { return OwnerID(c.Namespace, c.Name) })
}

// OwnersOf returns owner IDs by owner references, or else by owner labels. Pods and EndpointSlices inherit
// labels.
func OwnersOf(o drift.Object) []string {
	switch o := o.(type) {
	case *operatorsv1alpha1.ClusterServiceVersion:
		return []string{OwnerID(o.Namespace, o.Name)}
	case *corev1.Pod:
		return []string{o.Namespace + "/" + o.Labels[wellknown.LabelCSV]}
	case *discoveryv1.EndpointSlice:
		return []string{o.Namespace + "/" + o.Labels[wellknown.LabelOwner]}
	}
	var owners []string
	for _, reference := range o.GetOwnerReferences() {
		if groupkind.IsOwner(reference, groupkind.ClusterServiceVersion) {
			owners = append(owners, OwnerID(o.GetNamespace(), reference.Name))
		}
	}
	labels := o.GetLabels()
	if len(owners) == 0 && labels[wellknown.LabelOwnerKind] == operatorsv1alpha1.ClusterServiceVersionKind {
		owners = append(owners, labels[wellknown.LabelOwnerNamespace]+"/"+labels[wellknown.LabelOwner])
	}
	return owners
}
