package gather

import (
	"math"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/discovery"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/requirements"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/rules"
)

func (g *Gatherer) addAPIs(facts *requirements.Facts, by discovery.Asker) {
	if facts.CSV.Spec.MinKubeVersion != "" {
		facts.Kubernetes = g.Served.Version.Of("/version", by, discovery.MaxAge).Answer
	}
	facts.NoAggregator = g.Caches.Aggregation.Absent()
	facts.APIs, facts.Undiscovered = map[schema.GroupVersionKind]bool{}, map[schema.GroupVersion]bool{}
	facts.Announced = map[schema.GroupVersion]time.Time{}
	facts.APIServices = map[string]*apiregistrationv1.APIService{}
	for _, kind := range csvspec.RequiredAPIs(facts.CSV) {
		if service := g.Caches.APIServices.Get("", csvspec.APIServiceName(kind.Group, kind.Version)); service != nil {
			facts.APIServices[service.Name] = service
		} else if !facts.NoAggregator {
			continue
		}
		group := kind.GroupVersion()
		reply := g.Served.Resources.Of(group, by, discovery.MaxAge)
		facts.APIs[kind], facts.Undiscovered[group], facts.Announced[group] = discovery.HasKind(reply.Answer, kind.Kind), !reply.Known, reply.Announced
	}
}

const (
	// builtInAge is for an answer that stays valid until a change announces another.
	builtInAge = time.Duration(math.MaxInt64)
	// emptyAge is for one that lists no resources: the API server has not begun to serve the group.
	emptyAge = 30 * time.Second
)

// builtIn returns nil before an answer. A new version of the API server changes the APIService.
func (g *Gatherer) builtIn(version schema.GroupVersion, by discovery.Asker) []rules.Resource {
	reply := g.Served.Resources.Of(version, by, builtInAge)
	if reply.Known && len(reply.Answer) == 0 {
		reply = g.Served.Resources.Of(version, by, emptyAge)
	}
	if len(reply.Answer) == 0 {
		return nil
	}
	resources := make([]rules.Resource, 0, len(reply.Answer))
	for _, r := range reply.Answer {
		kind := version.WithKind(r.Kind)
		if r.Version != "" {
			kind.Group, kind.Version = r.Group, r.Version
		}
		extent := rules.ClusterScoped
		if r.Namespaced {
			extent = rules.Namespaced
		}
		resources = append(resources, rules.Resource{Name: r.Name, Kind: kind, Extent: extent})
	}
	return resources
}

// catalog reads caches, and asks once for what Kubernetes itself serves. Other API servers are not asked.
func (g *Gatherer) catalog(csv *operatorsv1alpha1.ClusterServiceVersion, by discovery.Asker) rules.Catalog {
	groups := rules.Groups(csv)
	catalog := rules.Catalog{Closed: len(groups) > 0 && !g.Caches.Aggregation.Absent()}
	for _, group := range groups {
		g.addGroup(&catalog, group, by)
		if catalog.Closed && catalog.Groups[group] == nil && catalog.Names == nil {
			catalog.Names = lists.Map(g.Caches.APIServices.All(), func(service *apiregistrationv1.APIService) string { return service.Spec.Group })
		}
	}
	return catalog
}

func (g *Gatherer) addGroup(catalog *rules.Catalog, group string, by discovery.Asker) {
	for _, service := range g.Caches.APIServices.By(informers.ByGroup, group) {
		version := schema.GroupVersion{Group: group, Version: service.Spec.Version}
		switch {
		case service.Spec.Service != nil:
			catalog.Add(version, nil)
		case service.Labels[wellknown.LabelAutomanaged] == wellknown.AutomanagedBuiltIn:
			catalog.Add(version, g.builtIn(version, by))
		}
	}
	for _, crd := range g.Caches.CRDs.By(informers.ByGroup, group) {
		if apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.Established) {
			catalog.AddDefinition(crd)
		}
	}
}
