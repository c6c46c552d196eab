package controller

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/discovery"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/queue"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/requirements"
)

// apis fills in what the API server says of itself, as far as the
// ClusterServiceVersion depends on it.
func (c *gatherer) apis(facts *requirements.Facts, by discovery.Asker) {
	if facts.CSV.Spec.MinKubeVersion != "" {
		facts.Kubernetes = c.served.Version.Of("/version", by, discovery.MaxAge).Answer
	}
	facts.NoAggregator = c.caches.Aggregation.Absent()
	facts.APIs, facts.Undiscovered = map[schema.GroupVersionKind]bool{}, map[schema.GroupVersion]bool{}
	facts.Now, facts.Announced = c.now(), map[schema.GroupVersion]time.Time{}
	facts.APIServices = map[string]*apiregistrationv1.APIService{}
	for _, kind := range csvspec.RequiredAPIs(facts.CSV) {
		if service := c.caches.APIServices.Get("", csvspec.APIServiceName(kind.Group, kind.Version)); service != nil {
			facts.APIServices[service.Name] = service
		} else if !facts.NoAggregator {
			continue
		}
		group := kind.GroupVersion()
		reply := c.served.Resources.Of(group, by, discovery.MaxAge)
		facts.APIs[kind], facts.Undiscovered[group], facts.Announced[group] = discovery.HasKind(reply.Answer, kind.Kind), !reply.Known, reply.Announced
	}
}

// apiChanged matters to the ClusterServiceVersions that depend on a kind of the group.
func (c *eventHandlers) apiChanged(group schema.GroupVersion) {
	c.served.Resources.Announce(group)
	for _, csv := range c.caches.CSVs.By(informers.ByAPI, csvspec.APIServiceName(group.Group, group.Version)) {
		c.queue.Add(queue.CSVKey(csv.Namespace, csv.Name))
	}
}
