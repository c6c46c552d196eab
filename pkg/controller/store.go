package controller

import (
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/tools/cache"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/lineage"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
)

const (
	// byOwner indexes objects by the ClusterServiceVersion that they say they belong to.
	byOwner = "owner"
	// byCRD indexes ClusterServiceVersions by the CustomResourceDefinitions that they
	// own, require, or convert.
	byCRD = "crd"
	// byReplaced indexes ClusterServiceVersions by the versions that they replace.
	byReplaced = "replaced"
	// byNamed indexes Subscriptions by the ClusterServiceVersions that they name.
	byNamed = "named"
	// byOwned indexes ClusterServiceVersions by what of cluster scope they own.
	byOwned = "owned"
	// byProvided indexes ClusterServiceVersions by the kinds that they provide, and
	// OperatorGroups whose administrators list those by what they list.
	byProvided = "provided"
	// byAPI indexes ClusterServiceVersions by the APIServices that they depend on.
	byAPI = "api"
	// bySubject indexes bindings by whom they give something, and ClusterServiceVersions
	// by what their ServiceAccounts are to bindings.
	bySubject = "subject"
	// byRole indexes bindings by the role that they give.
	byRole = "role"
	// byConverter indexes CustomResourceDefinitions by the Service that converts them.
	byConverter = "converter"
)

var indexers = cache.Indexers{
	byOwner: func(o any) ([]string, error) { return ownersOf(o.(rollout.Object)), nil },
	byCRD: func(o any) ([]string, error) {
		if csv, ok := o.(*operatorsv1alpha1.ClusterServiceVersion); ok {
			return install.RequiredCRDs(csv), nil
		}
		return nil, nil
	},
	byReplaced: func(o any) ([]string, error) {
		var replaced []string
		if csv, ok := o.(*operatorsv1alpha1.ClusterServiceVersion); ok {
			for _, name := range lineage.Replaced(csv) {
				replaced = append(replaced, csv.Namespace+"/"+name)
			}
		}
		return replaced, nil
	},
	byNamed: func(o any) ([]string, error) {
		var named []string
		if s, ok := o.(*operatorsv1alpha1.Subscription); ok {
			for _, name := range install.NamedBy(s) {
				named = append(named, s.Namespace+"/"+name)
			}
		}
		return named, nil
	},
	byOwned: func(o any) ([]string, error) {
		if csv, ok := o.(*operatorsv1alpha1.ClusterServiceVersion); ok && !csv.IsCopied() {
			return install.Owned(csv), nil
		}
		return nil, nil
	},
	byProvided: func(o any) ([]string, error) { return providedBy(o), nil },
	byAPI:      func(o any) ([]string, error) { return apisOf(o), nil },
	bySubject:  func(o any) ([]string, error) { return subjectsOf(o), nil },
	byRole:     func(o any) ([]string, error) { return roleOf(o), nil },
	byConverter: func(o any) ([]string, error) {
		if crd, ok := o.(*apiextensionsv1.CustomResourceDefinition); ok {
			if namespace, service := install.ConvertedBy(crd); namespace != "" {
				return []string{namespace + "/" + service}, nil
			}
		}
		return nil, nil
	},
}

// store is a typed view of an informer's cache.
type store[T rollout.Object] struct {
	informer cache.SharedIndexInformer
	synced   cache.InformerSynced
}

// newStore wraps an informer. The transform, which may be nil, strips objects before
// they are stored.
func newStore[T rollout.Object](informer cache.SharedIndexInformer, transform cache.TransformFunc) store[T] {
	err := informer.AddIndexers(indexers)
	if err == nil && transform != nil {
		err = informer.SetTransform(transform)
	}
	if err != nil {
		panic(err) // only a started informer refuses
	}
	return store[T]{informer: informer, synced: informer.HasSynced}
}

// get is the object of that name, or nil; for cluster-scoped ones namespace is "".
func (s store[T]) get(namespace, name string) (object T) {
	k := name
	if namespace != "" {
		k = namespace + "/" + name
	}
	if o, exists, err := s.informer.GetStore().GetByKey(k); err == nil && exists {
		object = o.(T)
	}
	return object
}

// in is everything in a namespace.
func (s store[T]) in(namespace string) []T { return s.by(cache.NamespaceIndex, namespace) }

// ofOwner is everything that says it belongs to the ClusterServiceVersion.
func (s store[T]) ofOwner(owner string) []T { return s.by(byOwner, owner) }

// ofOwners is everything that says it belongs to any of the ClusterServiceVersions,
// each object once.
func (s store[T]) ofOwners(owners []string) []T {
	if len(owners) == 1 {
		return s.ofOwner(owners[0])
	}
	var all []T
	seen := map[string]bool{}
	for _, owner := range owners {
		for _, o := range s.ofOwner(owner) {
			if k := o.GetNamespace() + "/" + o.GetName(); !seen[k] {
				seen[k] = true
				all = append(all, o)
			}
		}
	}
	return all
}

// all is everything.
func (s store[T]) all() []T {
	return typed[T](s.informer.GetStore().List())
}

func (s store[T]) by(index, value string) []T {
	objects, err := s.informer.GetIndexer().ByIndex(index, value)
	if err != nil {
		panic(fmt.Sprintf("index %s: %v", index, err))
	}
	return typed[T](objects)
}

func typed[T rollout.Object](objects []any) []T {
	list := make([]T, 0, len(objects))
	for _, o := range objects {
		list = append(list, o.(T))
	}
	return list
}
