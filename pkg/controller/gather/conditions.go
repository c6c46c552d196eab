package gather

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs/issuers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/decide"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/lineage"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
)

// HasOperatorConditions reports whether the cluster has the kind OperatorCondition. A cluster with an
// old OLM lacks it.
func (g *Gatherer) HasOperatorConditions() bool {
	crd := g.Caches.CRDs.Get("", informers.OperatorConditionsCRD)
	return crd != nil && informers.Established(crd) && serves(crd, operatorsv2.GroupVersion.Version)
}

func serves(crd *apiextensionsv1.CustomResourceDefinition, version string) bool {
	for _, v := range crd.Spec.Versions {
		if v.Name == version {
			return v.Served
		}
	}
	return false
}

// OperatorCondition returns the OperatorCondition of a ClusterServiceVersion; nil if there is none. It
// fails while the cache is being filled.
func (g *Gatherer) OperatorCondition(csv *operatorsv1alpha1.ClusterServiceVersion) (*unstructured.Unstructured, error) {
	if !g.HasOperatorConditions() {
		return nil, nil
	}
	cached, filled := g.Foreign.Of(owners.OperatorConditions.Resource)
	if !filled {
		return nil, informers.ErrStale
	}
	return cached.Get(csv.Namespace, csv.Name), nil
}

// AddNotUpgradeable learns from the versions that are to be replaced whether they mind.
func (g *Gatherer) AddNotUpgradeable(u *rollout.Upgrade) error {
	if u.Started {
		return nil
	}
	for _, older := range u.From {
		live, err := g.OperatorCondition(older)
		if err != nil {
			return err
		}
		condition, err := decide.TypedCondition(live)
		if err != nil {
			return err
		}
		if u.NotUpgradeable = lineage.NotUpgradeable(condition); u.NotUpgradeable != "" {
			return nil
		}
	}
	return nil
}

// hasCertManager reports whether the API server serves the kinds of cert-manager.
func (g *Gatherer) hasCertManager() bool {
	crd := g.Caches.CRDs.Get("", issuers.CertificatesCRD)
	return crd != nil && informers.Established(crd)
}
