package versions

import (
	"slices"
	"sync"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/lineage"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
)

// ClaimantOf returns a claim to APIs. A version that replaces an installed one has its rights.
func (r *Index) ClaimantOf(csv *operatorsv1alpha1.ClusterServiceVersion) scope.Claimant {
	claimant := scope.Claimant{CSV: csv, Began: r.Began(csv), Kinds: KindsOwned(r.Caches, csv)}
	for _, name := range lineage.Replaced(csv) {
		older := r.Caches.CSVs.Get(csv.Namespace, name)
		claimant.Began = claimant.Began || older != nil && r.Began(older)
	}
	return claimant
}

// KindsOwned returns the kinds of the existing definitions that a ClusterServiceVersion owns, by name.
func KindsOwned(caches *informers.Caches, csv *operatorsv1alpha1.ClusterServiceVersion) map[string]string {
	kinds := map[string]string{}
	for _, d := range csv.Spec.CustomResourceDefinitions.Owned {
		if crd := caches.CRDs.Get("", d.Name); crd != nil {
			kinds[d.Name] = crd.Spec.Names.Kind
		}
	}
	return kinds
}

// Neighbours returns other, not deleted operators of the namespace that own the same API.
func (r *Index) Neighbours(csv *operatorsv1alpha1.ClusterServiceVersion, relatives lineage.Lineage) []scope.Claimant {
	others := r.otherOperators(csv, relatives, informers.ByOwned, csvspec.OwnedNames(csv))
	return lists.Map(slices.DeleteFunc(others, r.IsDeleted), r.ClaimantOf)
}

// claims is the index of provided APIs. Each version updates its own first: of two in conflict, one observes the other.
type claims struct {
	mutex sync.Mutex
	index scope.Claims
}

// Rivals returns operators of other groups with the best right to an API, unless deleted or without a scope.
func (r *Index) Rivals(own scope.Claimant, in scope.Scope) []scope.Rival {
	r.claims.mutex.Lock()
	defer r.claims.mutex.Unlock()
	return r.claims.index.Rivals(in, own)
}

// UpdateClaim updates the index and enqueues the ClusterServiceVersions whose right may have changed. known is false
// if the ClusterServiceVersion has no claim, before and after: it has no scope.
func (r *Index) UpdateClaim(namespace, name string) (known bool) {
	return r.setClaim(namespace+"/"+name, func() *scope.Rival {
		csv := r.Caches.CSVs.Get(namespace, name)
		if csv == nil || csv.IsCopied() || r.IsDeleted(csv) {
			return nil
		}
		s, failure := r.ScopeOf(namespace)
		if failure != nil || s.Supported(csv) != nil {
			return nil
		}
		return &scope.Rival{Claimant: r.ClaimantOf(csv), Scope: s}
	})
}

// UpdateClaims is for the operators of a namespace and the static APIs of its OperatorGroup.
func (r *Index) UpdateClaims(namespace string) {
	r.setClaim(namespace, func() *scope.Rival {
		if s, failure := r.ScopeOf(namespace); failure == nil && s.Group.Spec.StaticProvidedAPIs {
			return &scope.Rival{Scope: s}
		}
		return nil
	})
	for _, csv := range r.Caches.CSVs.In(namespace) {
		r.UpdateClaim(csv.Namespace, csv.Name)
	}
}

// setClaim reads the caches under the lock, so that the latest reader is the latest writer.
func (r *Index) setClaim(key string, read func() *scope.Rival) (known bool) {
	r.claims.mutex.Lock()
	known = r.claims.index.Has(key)
	affected := r.claims.index.Set(key, read())
	known = known || r.claims.index.Has(key)
	r.claims.mutex.Unlock()
	r.Enqueue(affected...)
	return known
}
