package controller

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/lineage"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
)

// claimant is a ClusterServiceVersion as others see it that provide the same. A version
// that replaces an installed one has its rights.
func (c *Controller) claimant(csv *operatorsv1alpha1.ClusterServiceVersion) scope.Claimant {
	claimant := scope.Claimant{CSV: csv, Began: c.begun(csv)}
	for _, name := range lineage.Replaced(csv) {
		older := c.caches.csvs.get(csv.Namespace, name)
		claimant.Began = claimant.Began || older != nil && c.begun(older)
	}
	return claimant
}

// neighbours are the operators of the namespace that own something which a
// ClusterServiceVersion owns. Other versions of the same operator are none, nor are
// those on their way out.
func (c *Controller) neighbours(csv *operatorsv1alpha1.ClusterServiceVersion, relatives lineage.Lineage) []scope.Claimant {
	var found []scope.Claimant
	seen := map[string]bool{csv.Name: true}
	for _, relative := range slices.Concat(relatives.Older, relatives.Newer) {
		seen[relative.Name] = true
	}
	for _, owned := range install.Owned(csv) {
		for _, other := range c.caches.csvs.by(byOwned, owned) {
			if other.Namespace == csv.Namespace && !seen[other.Name] && !c.leaving(other) {
				seen[other.Name] = true
				found = append(found, c.claimant(other))
			}
		}
	}
	return found
}

// rivals are those who provide an API of a ClusterServiceVersion in another group. One
// whose own scope is not settled is none, nor is one on its way out.
func (c *Controller) rivals(csv *operatorsv1alpha1.ClusterServiceVersion) []scope.Rival {
	var found []scope.Rival
	for _, api := range scope.APIsOf(csv) {
		for _, other := range c.caches.csvs.by(byProvided, api) {
			if other.Namespace == csv.Namespace || c.leaving(other) {
				continue
			}
			if s, failure := c.scopeOf(other.Namespace); failure == nil && s.Supported(other) == nil {
				found = append(found, scope.Rival{Claimant: c.claimant(other), Scope: s})
			}
		}
		for _, group := range c.caches.groups.by(byProvided, api) {
			if s, failure := c.scopeOf(group.Namespace); failure == nil && s.Group.UID == group.UID {
				found = append(found, scope.Rival{Scope: s})
			}
		}
	}
	return found
}

// namespacesFor are the Namespaces that the targets of some groups depend on. There may be
// many, and as many ClusterServiceVersions that ask.
func (c *Controller) namespacesFor(groups ...*operatorsv1.OperatorGroup) []*corev1.Namespace {
	names, all := scope.Named(groups)
	if all {
		return c.caches.namespaces.all()
	}
	var found []*corev1.Namespace
	for _, name := range names {
		if namespace := c.caches.namespaces.get("", name); namespace != nil {
			found = append(found, namespace)
		}
	}
	return found
}

// providedBy are the kinds that an operator provides, or that a group's administrator
// says it does.
func providedBy(o any) []string {
	switch o := o.(type) {
	case *operatorsv1alpha1.ClusterServiceVersion:
		if !o.IsCopied() {
			return scope.APIsOf(o)
		}
	case *operatorsv1.OperatorGroup:
		if o.Spec.StaticProvidedAPIs {
			return scope.AnnotatedAPIs(o)
		}
	}
	return nil
}

// claimChanged matters to those who provide or own the same.
func (c *Controller) claimChanged(before, after rollout.Object) {
	if before == nil || after == nil || before.GetGeneration() != after.GetGeneration() || claimsAnew(before, after) {
		for _, csv := range present(before, after) {
			c.lookAtClaimants(csv.(*operatorsv1alpha1.ClusterServiceVersion))
		}
	}
}

// claimsAnew tells whether an operator has another right than before to what it provides.
func claimsAnew(before, after rollout.Object) bool {
	was, is := before.(*operatorsv1alpha1.ClusterServiceVersion), after.(*operatorsv1alpha1.ClusterServiceVersion)
	return lineage.Began(was) != lineage.Began(is) ||
		(was.Status.Phase == operatorsv1alpha1.CSVPhaseFailed) != (is.Status.Phase == operatorsv1alpha1.CSVPhaseFailed) ||
		was.Status.Reason != is.Status.Reason && (scope.Yields(was.Status.Reason) || scope.Yields(is.Status.Reason))
}

func (c *Controller) lookAtClaimants(csv *operatorsv1alpha1.ClusterServiceVersion) {
	for _, owned := range install.Owned(csv) {
		c.lookAtOthers(csv, c.caches.csvs.by(byOwned, owned))
	}
	for _, api := range scope.APIsOf(csv) {
		c.lookAtOthers(csv, c.caches.csvs.by(byProvided, api))
	}
}

func (c *Controller) lookAtOthers(csv *operatorsv1alpha1.ClusterServiceVersion, all []*operatorsv1alpha1.ClusterServiceVersion) {
	for _, other := range all {
		if other.Namespace != csv.Namespace || other.Name != csv.Name {
			c.queue.Add(key{csvKind, other.Namespace, other.Name})
		}
	}
}

// lookAtRivalsOf looks at those who provide the same as the operators of a group, or as
// the group says itself: what it covers may be another.
func (c *Controller) lookAtRivalsOf(before, after rollout.Object) {
	for _, group := range present(before, after) {
		for _, api := range providedBy(group) {
			for _, csv := range c.caches.csvs.by(byProvided, api) {
				c.queue.Add(key{csvKind, csv.Namespace, csv.Name})
			}
		}
	}
	for _, csv := range c.caches.csvs.in(present(before, after)[0].GetNamespace()) {
		for _, api := range scope.APIsOf(csv) {
			c.lookAtOthers(csv, c.caches.csvs.by(byProvided, api))
		}
	}
}
