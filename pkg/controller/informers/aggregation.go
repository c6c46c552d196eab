package informers

import (
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/discovery"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// Aggregation records whether the API server aggregates APIs. One that does not has no
// APIServices, and needs a restart to get them.
type Aggregation struct{ absent atomic.Bool }

// Absent reports whether the API server does not aggregate APIs.
func (a *Aggregation) Absent() bool { return a.absent.Load() }

// Discover asks the API server.
func (a *Aggregation) Discover(client discovery.DiscoveryInterface) error {
	_, err := client.ServerResourcesForGroupVersion(apiregistrationv1.SchemeGroupVersion.String())
	if apierrors.IsNotFound(err) {
		a.absent.Store(true)
		return nil
	}
	return err
}
