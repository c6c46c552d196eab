package controller

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/tools/cache"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/lineage"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
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
	// byOwned indexes ClusterServiceVersions by their namespace and what of cluster scope they own.
	byOwned = "owned"
	// byAPI indexes ClusterServiceVersions by the APIServices that they depend on.
	byAPI = "api"
	// bySubject indexes bindings by whom they give something, and ClusterServiceVersions
	// by what their ServiceAccounts are to bindings.
	bySubject = "subject"
	// byRole indexes bindings by the role that they give.
	byRole = "role"
	// byGroupLabel indexes Namespaces by the labels of OperatorGroups that they bear, OperatorGroups by
	// their own, and registrations by those by which they select Namespaces.
	byGroupLabel = "grouplabel"
	// byTarget indexes OperatorGroups by the Namespaces that they name, and bySelection those that
	// select Namespaces by what these bear.
	byTarget    = "target"
	bySelection = "selection"
	// byDeployment indexes ClusterServiceVersions by the Deployments that they name.
	byDeployment = "deployment"
	// byReplacing indexes Secrets whose certificate is being replaced, all under one value.
	byReplacing = "replacing"
	// byConverter indexes CustomResourceDefinitions by the Service that converts them.
	byConverter = "converter"
	// byGroup indexes CustomResourceDefinitions and APIServices by their API group, and
	// ClusterServiceVersions by the groups of the APIServices that they own.
	byGroup = "group"
	// byRuled indexes ClusterServiceVersions by the API groups that rules of their webhooks name.
	byRuled = "ruled"
)

var indexers = cache.Indexers{
	byOwner: func(o any) ([]string, error) { return ownersOf(o.(drift.Object)), nil },
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
			var owned []string
			for _, name := range install.Owned(csv) {
				owned = append(owned, csv.Namespace+"/"+name)
			}
			return owned, nil
		}
		return nil, nil
	},
	byDeployment: func(o any) ([]string, error) {
		var named []string
		if csv, ok := o.(*operatorsv1alpha1.ClusterServiceVersion); ok && !csv.IsCopied() {
			for _, name := range install.DeploymentNames(csv) {
				named = append(named, csv.Namespace+"/"+name)
			}
		}
		return named, nil
	},
	byReplacing: func(o any) ([]string, error) {
		if secret, ok := o.(*corev1.Secret); ok && certs.Replacing(secret) {
			return []string{""}, nil
		}
		return nil, nil
	},
	byGroupLabel: func(o any) ([]string, error) { return groupLabelsOf(o.(drift.Object)), nil },
	byTarget: func(o any) ([]string, error) {
		if group, ok := o.(*operatorsv1.OperatorGroup); ok {
			return scope.TargetNames(group), nil
		}
		return nil, nil
	},
	bySelection: func(o any) ([]string, error) {
		if group, ok := o.(*operatorsv1.OperatorGroup); ok {
			return scope.SelectionKeys(group), nil
		}
		return nil, nil
	},
	byAPI:     func(o any) ([]string, error) { return apisOf(o), nil },
	bySubject: func(o any) ([]string, error) { return subjectsOf(o), nil },
	byRole:    func(o any) ([]string, error) { return roleOf(o), nil },
	byGroup:   func(o any) ([]string, error) { return groupOf(o), nil },
	byRuled: func(o any) ([]string, error) {
		if csv, ok := o.(*operatorsv1alpha1.ClusterServiceVersion); ok {
			return install.RuledGroups(csv), nil
		}
		return nil, nil
	},
	byConverter: func(o any) ([]string, error) {
		if crd, ok := o.(*apiextensionsv1.CustomResourceDefinition); ok {
			if namespace, service := install.ConvertedBy(crd); namespace != "" {
				return []string{namespace + "/" + service}, nil
			}
		}
		return nil, nil
	},
}

// store is a typed view of the caches of informers: of one for all namespaces, or of one for each
// namespace.
type store[T drift.Object] struct {
	informers []cache.SharedIndexInformer
	synced    cache.InformerSynced
	began     time.Time // when it was first asked for, where it is filled on demand
}

// newStore wraps informers. The transform, which may be nil, strips objects before
// they are stored.
func newStore[T drift.Object](transform cache.TransformFunc, informers ...cache.SharedIndexInformer) store[T] {
	for _, informer := range informers {
		err := informer.AddIndexers(indexers)
		if err == nil && transform != nil {
			err = informer.SetTransform(transform)
		}
		if err != nil {
			panic(err) // only a started informer refuses
		}
	}
	unfilled := func(informer cache.SharedIndexInformer) bool { return !informer.HasSynced() }
	return store[T]{informers: informers, synced: func() bool { return !slices.ContainsFunc(informers, unfilled) }}
}

// get is the object of that name, or nil; for cluster-scoped ones namespace is "".
func (s store[T]) get(namespace, name string) (object T) {
	k := name
	if namespace != "" {
		k = namespace + "/" + name
	}
	for _, informer := range s.informers {
		if o, exists, err := informer.GetStore().GetByKey(k); err == nil && exists {
			object = o.(T)
		}
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
	var all []any
	for _, informer := range s.informers {
		all = append(all, informer.GetStore().List()...)
	}
	return typed[T](all)
}

func (s store[T]) by(index, value string) []T {
	var all []any
	for _, informer := range s.informers {
		objects, err := informer.GetIndexer().ByIndex(index, value)
		if err != nil {
			panic(fmt.Sprintf("index %s: %v", index, err))
		}
		all = append(all, objects...)
	}
	return typed[T](all)
}

func typed[T drift.Object](objects []any) []T {
	list := make([]T, 0, len(objects))
	for _, o := range objects {
		list = append(list, o.(T))
	}
	return list
}
