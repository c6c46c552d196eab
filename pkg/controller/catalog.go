package controller

import (
	"math"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/vocabulary"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install"
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
func (c *Controller) builtIn(version schema.GroupVersion, by asker) []install.Resource {
	reply := c.served.resources.of(version, by, builtInAge)
	if reply.known && len(reply.answer) == 0 {
		reply = c.served.resources.of(version, by, emptyAge)
	}
	if len(reply.answer) == 0 {
		return nil
	}
	resources := make([]install.Resource, 0, len(reply.answer))
	for _, r := range reply.answer {
		kind := version.WithKind(r.Kind)
		if r.Version != "" {
			kind.Group, kind.Version = r.Group, r.Version
		}
		extent := install.ClusterScoped
		if r.Namespaced {
			extent = install.Namespaced
		}
		resources = append(resources, install.Resource{Name: r.Name, Kind: kind, Extent: extent})
	}
	return resources
}

// catalog lists what the API server serves of the groups that the rules of a
// ClusterServiceVersion name. It is of the caches, but for what Kubernetes itself serves,
// which is asked for once. Of what other API servers answer, nothing is known.
func (c *Controller) catalog(csv *operatorsv1alpha1.ClusterServiceVersion, by asker) install.Catalog {
	groups := install.RuledGroups(csv)
	catalog := install.Catalog{Closed: len(groups) > 0 && !c.caches.aggregation.absent.Load()}
	for _, group := range groups {
		c.addGroup(&catalog, group, by)
		if catalog.Closed && catalog.Groups[group] == nil && catalog.Names == nil {
			catalog.Names = c.servedGroups()
		}
	}
	return catalog
}

func (c *Controller) addGroup(catalog *install.Catalog, group string, by asker) {
	for _, service := range c.caches.apiServices.by(byGroup, group) {
		version := schema.GroupVersion{Group: group, Version: service.Spec.Version}
		switch {
		case service.Spec.Service != nil:
			catalog.Add(version, nil)
		case service.Labels[vocabulary.LabelAutomanaged] == vocabulary.AutomanagedBuiltIn:
			catalog.Add(version, c.builtIn(version, by))
		}
	}
	for _, crd := range c.caches.crds.by(byGroup, group) {
		if established(crd) {
			catalog.AddDefinition(crd)
		}
	}
}

// servedGroups are the names of all groups.
func (c *Controller) servedGroups() []string {
	names := []string{}
	for _, service := range c.caches.apiServices.all() {
		names = append(names, service.Spec.Group)
	}
	return names
}

// groupOf is the API group that a definition or an APIService makes an API server serve.
func groupOf(o any) []string {
	switch o := o.(type) {
	case *apiextensionsv1.CustomResourceDefinition:
		return []string{o.Spec.Group}
	case *apiregistrationv1.APIService:
		return []string{o.Spec.Group}
	case *operatorsv1alpha1.ClusterServiceVersion:
		return install.ServedGroups(o)
	default:
		return nil
	}
}

// servedBy is what makes an entry of a catalog of an object.
func servedBy(o drift.Object) any {
	switch o := o.(type) {
	case *apiextensionsv1.CustomResourceDefinition:
		var catalog install.Catalog
		if established(o) {
			catalog.AddDefinition(o)
		}
		return catalog
	case *apiregistrationv1.APIService:
		return []string{o.Spec.Version, o.Labels[vocabulary.LabelAutomanaged], o.Spec.Service.String()}
	default:
		return nil
	}
}

// servedChanged matters to the ClusterServiceVersions with rules of the group, if what is
// served of it changes.
func (c *Controller) servedChanged(before, after drift.Object) {
	if before != nil && after != nil && equality.Semantic.DeepEqual(servedBy(before), servedBy(after)) {
		return
	}
	for _, o := range present(before, after) {
		if service, ok := o.(*apiregistrationv1.APIService); ok {
			c.served.resources.announce(schema.GroupVersion{Group: service.Spec.Group, Version: service.Spec.Version})
		}
	}
	for _, group := range groupOf(present(before, after)[0]) {
		for _, csv := range c.caches.csvs.by(byRuled, group) {
			c.queue.Add(key{csvKind, csv.Namespace, csv.Name})
		}
	}
}
