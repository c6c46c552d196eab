package versions

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
)

// NamespacesFor returns the Namespaces, possibly many, that the targets of some groups depend on.
func (r *Index) NamespacesFor(groups ...*operatorsv1.OperatorGroup) []*corev1.Namespace {
	names, all := scope.Named(groups)
	if all {
		return r.Caches.Namespaces.All()
	}
	var found []*corev1.Namespace
	for _, name := range names {
		if namespace := r.Caches.Namespaces.Get("", name); namespace != nil {
			found = append(found, namespace)
		}
	}
	return found
}

// GroupsOf returns the groups that may target a Namespace, and those whose labels it has.
func (r *Index) GroupsOf(namespace *corev1.Namespace) []*operatorsv1.OperatorGroup {
	found := r.Caches.Groups.By(informers.ByTarget, namespace.Name)
	for _, key := range scope.SelectableBy(namespace) {
		found = append(found, r.Caches.Groups.By(informers.BySelection, key)...)
	}
	for _, label := range scope.GroupLabels(namespace) {
		found = append(found, r.Caches.Groups.By(informers.ByGroupLabel, label)...)
	}
	slices.SortFunc(found, func(a, b *operatorsv1.OperatorGroup) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return slices.Compact(found)
}

// ScopeOf returns the scope of a namespace's OperatorGroup.
func (r *Index) ScopeOf(namespace string) (scope.Scope, *scope.Failure) {
	groups := r.Caches.Groups.In(namespace)
	find := func() (scope.Scope, *scope.Failure) {
		return scope.ForNamespace(namespace, groups, r.NamespacesFor(groups...))
	}
	if _, all := scope.Named(groups); all {
		return r.Scopes.Of(namespace, groups, find)
	}
	return find()
}

// Unlabelled returns Namespaces without the label by which webhooks select. A selector uses existing labels.
func (r *Index) Unlabelled(s scope.Scope) []string {
	if len(s.Group.Spec.TargetNamespaces) == 0 {
		return nil
	}
	return s.Unlabelled(r.NamespacesFor(s.Group))
}
