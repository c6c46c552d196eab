package informers

import (
	"context"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// Aggregation records whether the API server aggregates APIs. One that does not needs a restart to do so.
type Aggregation struct{ absent atomic.Bool }

// Absent reports whether the API server does not aggregate APIs.
func (a *Aggregation) Absent() bool { return a.absent.Load() }

// Discover asks the API server.
func (a *Aggregation) Discover(ctx context.Context, client rest.Interface) error {
	err := client.Get().AbsPath("/apis/" + apiregistrationv1.SchemeGroupVersion.String()).Do(ctx).Error()
	if apierrors.IsNotFound(err) {
		a.absent.Store(true)
		return nil
	}
	return err
}
