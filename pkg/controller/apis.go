package controller

import (
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install"
)

// discoveryAge is how old an answer of the API server about itself may be. An
// APIService that changes makes those about its group void before that.
const discoveryAge = 250 * time.Millisecond

// served asks the API server what it is and serves, four times a second at most for each
// question, however many ClusterServiceVersions have it.
type served struct {
	client discovery.DiscoveryInterface

	mutex   sync.Mutex
	version answered[string]
	kinds   map[schema.GroupVersion]answered[map[string]bool]
}

type answered[T any] struct {
	answer T
	at     time.Time
}

func newServed(client discovery.DiscoveryInterface) *served {
	return &served{client: client, kinds: map[schema.GroupVersion]answered[map[string]bool]{}}
}

// kubernetes is the version of the API server, as it says itself.
func (s *served) kubernetes(now time.Time) (string, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if now.Sub(s.version.at) < discoveryAge {
		return s.version.answer, nil
	}
	info, err := s.client.ServerVersion()
	if err != nil {
		return "", err
	}
	s.version = answered[string]{info.String(), now}
	return s.version.answer, nil
}

// serves tells whether a kind is served now. Nobody waits for the answer to somebody
// else's question: an operator may be the one that has to answer.
func (s *served) serves(kind schema.GroupVersionKind, now time.Time) (bool, error) {
	group := kind.GroupVersion()
	if known, asked := s.known(group); asked && now.Sub(known.at) < discoveryAge {
		return known.answer[kind.Kind], nil
	}
	list, err := s.client.ServerResourcesForGroupVersion(group.String())
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsServiceUnavailable(err) {
		return false, err
	}
	kinds := map[string]bool{}
	if err == nil {
		for _, resource := range list.APIResources {
			kinds[resource.Kind] = true
		}
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.kinds[group] = answered[map[string]bool]{kinds, now}
	return kinds[kind.Kind], nil
}

func (s *served) known(group schema.GroupVersion) (answered[map[string]bool], bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	known, asked := s.kinds[group]
	return known, asked
}

// forget makes the answer about a version of a group void.
func (s *served) forget(group schema.GroupVersion) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	delete(s.kinds, group)
}

// apis fills in what the API server says of itself, as far as the
// ClusterServiceVersion depends on it.
func (c *Controller) apis(facts *install.Facts) error {
	now := c.now()
	if facts.CSV.Spec.MinKubeVersion != "" {
		version, err := c.served.kubernetes(now)
		if err != nil {
			return err
		}
		facts.Kubernetes = version
	}
	facts.Unaggregated = c.caches.aggregation.absent.Load()
	facts.APIs = map[schema.GroupVersionKind]bool{}
	facts.APIServices = map[string]*apiregistrationv1.APIService{}
	for _, kind := range install.RequiredAPIs(facts.CSV) {
		if service := c.caches.apiServices.get("", install.APIServiceName(kind.Group, kind.Version)); service != nil {
			facts.APIServices[service.Name] = service
		} else if !facts.Unaggregated {
			continue
		}
		serves, err := c.served.serves(kind, now)
		if err != nil {
			return err
		}
		facts.APIs[kind] = serves
	}
	return nil
}

// apiChanged matters to the ClusterServiceVersions that depend on a kind of the group.
func (c *Controller) apiChanged(group schema.GroupVersion) {
	c.served.forget(group)
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
