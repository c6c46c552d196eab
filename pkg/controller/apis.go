package controller

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install"
)

// discoveryAge is how old an answer of the API server about itself may be. An
// APIService that changes makes those about its group void before that.
const discoveryAge = 250 * time.Millisecond

// apis fills in what the API server says of itself, as far as the
// ClusterServiceVersion depends on it.
func (c *Controller) apis(facts *install.Facts, by asker) {
	if facts.CSV.Spec.MinKubeVersion != "" {
		facts.Kubernetes = c.served.kubernetes.of("/version", by, discoveryAge).answer
	}
	facts.Unaggregated = c.caches.aggregation.absent.Load()
	facts.APIs, facts.Undiscovered = map[schema.GroupVersionKind]bool{}, map[schema.GroupVersion]bool{}
	facts.Now, facts.Announced = c.now(), map[schema.GroupVersion]time.Time{}
	facts.APIServices = map[string]*apiregistrationv1.APIService{}
	for _, kind := range install.RequiredAPIs(facts.CSV) {
		if service := c.caches.apiServices.get("", install.APIServiceName(kind.Group, kind.Version)); service != nil {
			facts.APIServices[service.Name] = service
		} else if !facts.Unaggregated {
			continue
		}
		group := kind.GroupVersion()
		reply := c.served.resources.of(group, by, discoveryAge)
		facts.APIs[kind], facts.Undiscovered[group], facts.Announced[group] = hasKind(reply.answer, kind.Kind), !reply.known, reply.announced
	}
}

// apiChanged matters to the ClusterServiceVersions that depend on a kind of the group.
func (c *Controller) apiChanged(group schema.GroupVersion) {
	c.served.resources.announce(group)
	for _, csv := range c.caches.csvs.by(byAPI, install.APIServiceName(group.Group, group.Version)) {
		c.queue.Add(key{csvKind, csv.Namespace, csv.Name})
	}
}

// apisOf are the APIServices that a ClusterServiceVersion depends on, or owns.
func apisOf(o any) []string {
	csv, ok := o.(*operatorsv1alpha1.ClusterServiceVersion)
	if !ok {
		return nil
	}
	var services []string
	for _, kind := range install.RequiredAPIs(csv) {
		services = append(services, install.APIServiceName(kind.Group, kind.Version))
	}
	for _, owned := range csv.Spec.APIServiceDefinitions.Owned {
		services = append(services, install.APIServiceName(owned.Group, owned.Version))
	}
	return services
}
