package controller

import (
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/queue"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/lineage"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
)

// claimant is a ClusterServiceVersion as others see it that provide the same. A version
// that replaces an installed one has its rights.
func (c *versions) claimant(csv *operatorsv1alpha1.ClusterServiceVersion) scope.Claimant {
	claimant := scope.Claimant{CSV: csv, Began: c.begun(csv), Kinds: c.kindsOwned(csv)}
	for _, name := range lineage.Replaced(csv) {
		older := c.caches.CSVs.Get(csv.Namespace, name)
		claimant.Began = claimant.Began || older != nil && c.begun(older)
	}
	return claimant
}

// kindsOwned are the kinds of the definitions that a ClusterServiceVersion owns, as far as they
// exist, by name.
func (c *versions) kindsOwned(csv *operatorsv1alpha1.ClusterServiceVersion) map[string]string {
	kinds := map[string]string{}
	for _, d := range csv.Spec.CustomResourceDefinitions.Owned {
		if crd := c.caches.CRDs.Get("", d.Name); crd != nil {
			kinds[d.Name] = crd.Spec.Names.Kind
		}
	}
	return kinds
}

// neighbours are the operators of the namespace that own something which a
// ClusterServiceVersion owns. Other versions of the same operator are none, nor are
// those on their way out.
func (c *versions) neighbours(csv *operatorsv1alpha1.ClusterServiceVersion, relatives lineage.Lineage) []scope.Claimant {
	var found []scope.Claimant
	seen := map[string]bool{csv.Name: true}
	for _, relative := range slices.Concat(relatives.Older, relatives.Newer) {
		seen[relative.Name] = true
	}
	for _, owned := range csvspec.OwnedNames(csv) {
		for _, other := range c.caches.CSVs.By(informers.ByOwned, csv.Namespace+"/"+owned) {
			if !seen[other.Name] && !c.leaving(other) {
				seen[other.Name] = true
				found = append(found, c.claimant(other))
			}
		}
	}
	return found
}

// claims is the index of who provides what, and where. Events keep it, and each reconciliation of a
// ClusterServiceVersion its own part: of two that contend, one at least knows of the other.
type claims struct {
	mutex sync.Mutex
	index scope.Claims
}

// rivals are those with the best right to an API of a ClusterServiceVersion in another group. One
// whose own scope is not settled is none, nor is one on its way out.
func (c *versions) rivals(own scope.Claimant, in scope.Scope) []scope.Rival {
	c.claim(own.CSV.Namespace, own.CSV.Name)
	c.claims.mutex.Lock()
	defer c.claims.mutex.Unlock()
	return c.claims.index.Rivals(in, own)
}

// claim brings the index up to date with a ClusterServiceVersion. It has those reconciled whose right to
// their APIs may be another then.
func (c *versions) claim(namespace, name string) {
	c.setClaim(namespace+"/"+name, func() *scope.Rival {
		csv := c.caches.CSVs.Get(namespace, name)
		if csv == nil || csv.IsCopied() || c.leaving(csv) {
			return nil
		}
		s, failure := c.scopeOf(namespace)
		if failure != nil || s.Supported(csv) != nil {
			return nil
		}
		return &scope.Rival{Claimant: c.claimant(csv), Scope: s}
	})
}

// claimAll does so with the operators of a namespace, and with what its OperatorGroup lists.
func (c *versions) claimAll(namespace string) {
	c.setClaim(namespace, func() *scope.Rival {
		if s, failure := c.scopeOf(namespace); failure == nil && s.Group.Spec.StaticProvidedAPIs {
			return &scope.Rival{Scope: s}
		}
		return nil
	})
	for _, csv := range c.caches.CSVs.In(namespace) {
		c.claim(csv.Namespace, csv.Name)
	}
}

// setClaim looks at the caches under the lock: the last to look is the last to write.
func (c *versions) setClaim(key string, look func() *scope.Rival) {
	c.claims.mutex.Lock()
	affected := c.claims.index.Set(key, look())
	c.claims.mutex.Unlock()
	for _, csv := range affected {
		c.lookAt(csv)
	}
}

// namespacesFor are the Namespaces that the targets of some groups depend on. There may be
// many, and as many ClusterServiceVersions that ask.
func (c *versions) namespacesFor(groups ...*operatorsv1.OperatorGroup) []*corev1.Namespace {
	names, all := scope.Named(groups)
	if all {
		return c.caches.Namespaces.All()
	}
	var found []*corev1.Namespace
	for _, name := range names {
		if namespace := c.caches.Namespaces.Get("", name); namespace != nil {
			found = append(found, namespace)
		}
	}
	return found
}

// claimChanged matters to those who provide or own the same, or name the same Deployments.
func (c *eventHandlers) claimChanged(before, after drift.Object) {
	changed := present(before, after)[0].(*operatorsv1alpha1.ClusterServiceVersion)
	c.versions.claim(changed.Namespace, changed.Name)
	if before == nil || after == nil || before.GetGeneration() != after.GetGeneration() || claimsAnew(before, after) {
		for _, csv := range present(before, after) {
			c.lookAtNeighbours(csv.(*operatorsv1alpha1.ClusterServiceVersion))
		}
	}
}

// claimsAnew tells whether an operator has another right than before to what it provides.
func claimsAnew(before, after drift.Object) bool {
	was, is := before.(*operatorsv1alpha1.ClusterServiceVersion), after.(*operatorsv1alpha1.ClusterServiceVersion)
	return lineage.Began(was) != lineage.Began(is) ||
		(was.Status.Phase == operatorsv1alpha1.CSVPhaseFailed) != (is.Status.Phase == operatorsv1alpha1.CSVPhaseFailed) ||
		was.Status.Reason != is.Status.Reason && (scope.Yields(was.Status.Reason) || scope.Yields(is.Status.Reason))
}

func (c *eventHandlers) lookAtNeighbours(csv *operatorsv1alpha1.ClusterServiceVersion) {
	for _, owned := range csvspec.OwnedNames(csv) {
		c.lookAtOthers(csv, c.caches.CSVs.By(informers.ByOwned, csv.Namespace+"/"+owned))
		_, group, _ := strings.Cut(owned, ".")
		c.groupServed(group)
	}
	for _, name := range csvspec.DeploymentNames(csv) {
		c.lookAtOthers(csv, c.caches.CSVs.By(informers.ByDeployment, csv.Namespace+"/"+name))
	}
}

func (c *eventHandlers) lookAtOthers(csv *operatorsv1alpha1.ClusterServiceVersion, all []*operatorsv1alpha1.ClusterServiceVersion) {
	for _, other := range all {
		if other.Name != csv.Name {
			c.versions.lookAt(other)
		}
	}
}

func (c *versions) lookAt(csv *operatorsv1alpha1.ClusterServiceVersion) {
	c.queue.Add(queue.CSVKey(csv.Namespace, csv.Name))
}
