package controller

import (
	"context"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/tools/cache"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// aggregation tells whether an API server passes requests on to others. One that does not has no
// APIServices, and does not get them without being started anew.
type aggregation struct{ absent atomic.Bool }

func (a *aggregation) find(client discovery.DiscoveryInterface) error {
	_, err := client.ServerResourcesForGroupVersion(apiregistrationv1.SchemeGroupVersion.String())
	if apierrors.IsNotFound(err) {
		a.absent.Store(true)
		return nil
	}
	return err
}

// unless is a cache that is as good as filled where there is nothing to fill it with.
func (a *aggregation) unless(synced cache.InformerSynced) cache.InformerSynced {
	return func() bool { return a.absent.Load() || synced() }
}

// liveAPIServices are those that the API server selects; none where it does not know the kind.
func (c *Controller) liveAPIServices(ctx context.Context, which metav1.ListOptions) ([]apiregistrationv1.APIService, error) {
	list, err := c.Aggregator.ApiregistrationV1().APIServices().List(ctx, which)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}
