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

	mutex     sync.Mutex
	version   answered[string]
	kinds     map[schema.GroupVersion]answered[map[string]bool]
	announced map[schema.GroupVersion]time.Time // when a change last announced what is served, or it was first asked for
}

type answered[T any] struct {
	answer T
	at     time.Time
}

func newServed(client discovery.DiscoveryInterface) *served {
	return &served{client: client, kinds: map[schema.GroupVersion]answered[map[string]bool]{}, announced: map[schema.GroupVersion]time.Time{}}
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
	known, asked := s.known(group)
	if asked && now.Sub(known.at) < discoveryAge {
		return known.answer[kind.Kind], nil
	}
	list, err := s.client.ServerResourcesForGroupVersion(group.String())
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsServiceUnavailable(err) {
		return known.answer[kind.Kind], err
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

// announce makes the answer about a version of a group void, because a change announces another.
func (s *served) announce(group schema.GroupVersion, now time.Time) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	delete(s.kinds, group)
	if _, asked := s.announced[group]; asked {
		s.announced[group] = now
	}
}

// announcedAt returns when a change last announced what a version of a group serves. For one that
// nobody has asked for before it is now.
func (s *served) announcedAt(group schema.GroupVersion, now time.Time) time.Time {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if at, asked := s.announced[group]; asked {
		return at
	}
	s.announced[group] = now
	return now
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
	facts.Now, facts.Announced = now, map[schema.GroupVersion]time.Time{}
	facts.APIServices = map[string]*apiregistrationv1.APIService{}
	for _, kind := range install.RequiredAPIs(facts.CSV) {
		if service := c.caches.apiServices.get("", install.APIServiceName(kind.Group, kind.Version)); service != nil {
			facts.APIServices[service.Name] = service
		} else if !facts.Unaggregated {
			continue
		}
		facts.Announced[kind.GroupVersion()] = c.served.announcedAt(kind.GroupVersion(), now)
		facts.APIs[kind] = c.serves(kind, now)
	}
	return nil
}

// serves reports whether a kind is served. A server that does not say so counts as one that serves
// what it served before: its failure must not end the reconciliation of those who depend on it.
func (c *Controller) serves(kind schema.GroupVersionKind, now time.Time) bool {
	serves, err := c.served.serves(kind, now)
	if err != nil {
		c.log.WithError(err).WithField("api", kind.GroupVersion().String()).Warn("cannot see which kinds are served")
	}
	return serves
}

// apiChanged matters to the ClusterServiceVersions that depend on a kind of the group.
func (c *Controller) apiChanged(group schema.GroupVersion) {
	c.served.announce(group, c.now())
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
