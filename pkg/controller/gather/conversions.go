package gather

import (
	"context"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/lineage"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/conversion"
)

// Convertible returns the definitions whose conversion a ClusterServiceVersion declares, or that call a Service
// of its versions. A Service that another client deleted is known by its Deployment.
func (g *Gatherer) Convertible(csv *operatorsv1alpha1.ClusterServiceVersion, ids []string) map[string]*apiextensionsv1.CustomResourceDefinition {
	found := g.Caches.CRDs.Existing("", csvspec.ConversionCRDs(csv))
	for _, service := range g.ownServiceNames(csv, ids) {
		for _, crd := range g.Caches.CRDs.By(informers.ByConverter, csv.Namespace+"/"+service) {
			found[crd.Name] = crd
		}
	}
	return found
}

// ConvertibleNames includes declared and recorded definitions before a cache shows their conversion.
func (g *Gatherer) ConvertibleNames(csv *operatorsv1alpha1.ClusterServiceVersion) []string {
	convertible := g.Convertible(csv, []string{informers.OwnerID(csv.Namespace, csv.Name)})
	all := slices.AppendSeq(csvspec.ConversionCRDs(csv), maps.Keys(convertible))
	if recorded := g.Caches.Rollouts.Get(csv.Namespace, csv.Name); recorded != nil {
		for _, d := range recorded.Status.Deployments {
			for _, w := range d.Webhooks {
				all = append(all, w.CRDs...)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// ownServiceNames includes missing Services, by their Deployments.
func (g *Gatherer) ownServiceNames(csv *operatorsv1alpha1.ClusterServiceVersion, ids []string) []string {
	all := lists.Map(g.Caches.Services.OfOwners(ids), func(service *corev1.Service) string { return service.Name })
	for _, d := range g.Caches.Deployments.OfOwners(ids) {
		for _, name := range []string{names.Service(d.Name), csvspec.AlternateServiceName(csv, d.Name)} {
			if g.Caches.Services.Get(csv.Namespace, name) == nil {
				all = append(all, name)
			}
		}
	}
	return all
}

func (g *Gatherer) withRequired(csv *operatorsv1alpha1.ClusterServiceVersion, crds map[string]*apiextensionsv1.CustomResourceDefinition) map[string]*apiextensionsv1.CustomResourceDefinition {
	all := maps.Clone(crds)
	maps.Copy(all, g.Caches.CRDs.Existing("", csvspec.RequiredCRDs(csv)))
	return all
}

// otherConverters are Services, as namespace/name, of other ClusterServiceVersions that convert the definitions.
func (g *Gatherer) otherConverters(own []string, crds map[string]*apiextensionsv1.CustomResourceDefinition) map[string]bool {
	others := map[string]bool{}
	for _, crd := range crds {
		namespace, name := owners.ConvertedBy(crd)
		service := g.Caches.Services.Get(namespace, name)
		if service == nil {
			continue
		}
		for _, owner := range informers.OwnersOf(service) {
			if !slices.Contains(own, owner) && g.Versions.Exists(owner) {
				others[namespace+"/"+name] = true
			}
		}
	}
	return others
}

// foreignConversions are declared conversions that another client set up, and that call a Service of others.
func (g *Gatherer) foreignConversions(ctx context.Context, csv *operatorsv1alpha1.ClusterServiceVersion, relatives lineage.Lineage) (map[string]bool, error) {
	versions := slices.Concat([]*operatorsv1alpha1.ClusterServiceVersion{csv}, relatives.Older, relatives.Newer)
	foreign, decided := map[string]bool{}, map[string]bool{}
	for _, name := range csvspec.ConversionCRDs(csv) {
		crd := g.Caches.CRDs.Get("", name)
		if decided[name] || crd == nil || !conversion.SetUpByOther(crd) {
			continue
		}
		decided[name] = true // a name may be listed any number of times
		namespace, service := owners.ConvertedBy(crd)
		calls, err := g.callsAnother(ctx, namespace, service, versions)
		if err != nil {
			return nil, err
		}
		if calls {
			foreign[name] = true
		}
	}
	return foreign, nil
}

// callsAnother reports whether a Service exists and belongs to no ClusterServiceVersion of the manager. A URL,
// and a Service that the manager must not read, count as such.
func (g *Gatherer) callsAnother(ctx context.Context, namespace, name string, versions []*operatorsv1alpha1.ClusterServiceVersion) (bool, error) {
	if name == "" {
		return true, nil
	}
	if g.Caches.Services.Get(namespace, name) != nil {
		return false, nil
	}
	service, err := g.Kube.CoreV1().Services(namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case apierrors.IsForbidden(err):
		return true, nil
	case err != nil:
		return false, err
	default:
		return !slices.ContainsFunc(versions, func(csv *operatorsv1alpha1.ClusterServiceVersion) bool { return owners.IsServiceOf(csv, service) }), nil
	}
}
