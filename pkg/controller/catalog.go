package controller

import (
	"math"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/discovery"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/queue"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/rules"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

const (
	// builtInAge is for an answer that stays valid until a change announces another.
	builtInAge = time.Duration(math.MaxInt64)
	// emptyAge is for one that lists no resources: the API server has not begun to serve the group.
	emptyAge = 30 * time.Second
)

// builtIn returns what the API server serves of a version of a group of Kubernetes; nil when it has not
// answered. That changes with the version of the API server, which then changes the APIService.
func (c *gatherer) builtIn(version schema.GroupVersion, by discovery.Asker) []rules.Resource {
	reply := c.served.Resources.Of(version, by, builtInAge)
	if reply.Known && len(reply.Answer) == 0 {
		reply = c.served.Resources.Of(version, by, emptyAge)
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

// catalog lists what the API server serves of the groups that the rules of a
// ClusterServiceVersion name. It is of the caches, but for what Kubernetes itself serves,
// which is asked for once. Of what other API servers answer, nothing is known.
func (c *gatherer) catalog(csv *operatorsv1alpha1.ClusterServiceVersion, by discovery.Asker) rules.Catalog {
	groups := rules.Groups(csv)
	catalog := rules.Catalog{Closed: len(groups) > 0 && !c.caches.Aggregation.Absent()}
	for _, group := range groups {
		c.addGroup(&catalog, group, by)
		if catalog.Closed && catalog.Groups[group] == nil && catalog.Names == nil {
			catalog.Names = c.servedGroups()
		}
	}
	return catalog
}

func (c *gatherer) addGroup(catalog *rules.Catalog, group string, by discovery.Asker) {
	for _, service := range c.caches.APIServices.By(informers.ByGroup, group) {
		version := schema.GroupVersion{Group: group, Version: service.Spec.Version}
		switch {
		case service.Spec.Service != nil:
			catalog.Add(version, nil)
		case service.Labels[wellknown.LabelAutomanaged] == wellknown.AutomanagedBuiltIn:
			catalog.Add(version, c.builtIn(version, by))
		}
	}
	for _, crd := range c.caches.CRDs.By(informers.ByGroup, group) {
		if established(crd) {
			catalog.AddDefinition(crd)
		}
	}
}

// servedGroups are the names of all groups.
func (c *gatherer) servedGroups() []string {
	names := []string{}
	for _, service := range c.caches.APIServices.All() {
		names = append(names, service.Spec.Group)
	}
	return names
}

// servedBy is what makes an entry of a catalog of an object.
func servedBy(o drift.Object) any {
	switch o := o.(type) {
	case *apiextensionsv1.CustomResourceDefinition:
		var catalog rules.Catalog
		if established(o) {
			catalog.AddDefinition(o)
		}
		return catalog
	case *apiregistrationv1.APIService:
		return []string{o.Spec.Version, o.Labels[wellknown.LabelAutomanaged], o.Spec.Service.String()}
	default:
		return nil
	}
}

// servedChanged matters to the ClusterServiceVersions with rules of the group, if what is
// served of it changes.
func (c *eventHandlers) servedChanged(before, after drift.Object) {
	if before != nil && after != nil && equality.Semantic.DeepEqual(servedBy(before), servedBy(after)) {
		return
	}
	for _, o := range present(before, after) {
		if service, ok := o.(*apiregistrationv1.APIService); ok {
			c.served.Resources.Announce(schema.GroupVersion{Group: service.Spec.Group, Version: service.Spec.Version})
		}
	}
	for _, group := range informers.GroupsServedBy(present(before, after)[0]) {
		for _, csv := range c.caches.CSVs.By(informers.ByRuled, group) {
			c.queue.Add(queue.CSVKey(csv.Namespace, csv.Name))
		}
	}
}
