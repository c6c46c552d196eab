package gather

import (
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs/issuers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/decide"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/lineage"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
)

// HasOperatorConditions is false in a cluster with an old OLM.
func (g *Gatherer) HasOperatorConditions() bool {
	return g.Caches.Serves(owners.OperatorConditions.Resource)
}

func (g *Gatherer) condition(csv *operatorsv1alpha1.ClusterServiceVersion) decide.Condition {
	if !g.HasOperatorConditions() {
		return decide.Condition{}
	}
	cache, filled := g.OnDemand.Watch(owners.OperatorConditions.Resource)
	return decide.Condition{Supported: true, Cached: filled, Live: cache.Get(csv.Namespace, csv.Name)}
}

// notUpgradeable returns why older versions do not allow the upgrade. It fails while the cache is being filled.
func (g *Gatherer) notUpgradeable(u rollout.Upgrade) (string, error) {
	if u.Started {
		return "", nil
	}
	for _, older := range u.From {
		condition := g.condition(older)
		if condition.Supported && !condition.Cached {
			return "", informers.ErrStale
		}
		typed, err := decide.TypedCondition(condition.Live)
		if err != nil {
			return "", err
		}
		if why := lineage.NotUpgradeable(typed); why != "" {
			return why, nil
		}
	}
	return "", nil
}

// requestable returns the providers whose kinds can have objects.
func (g *Gatherer) requestable() map[managerv1alpha1.CertificateProvider]bool {
	all := map[managerv1alpha1.CertificateProvider]bool{}
	for _, p := range issuers.Providers {
		if p.CRD == "" {
			all[p.Name] = slices.ContainsFunc(p.Kinds, func(k issuers.Kind) bool { return g.OnDemand.IsWatched(k.Resource) })
			continue
		}
		crd := g.Caches.CRDs.Get("", p.CRD)
		all[p.Name] = crd != nil && apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.Established)
	}
	return all
}
