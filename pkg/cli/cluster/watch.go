package cluster

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmclient"
)

// ResyncPeriod is the time after which a state without a change is observed again: it may last too long.
const ResyncPeriod = 10 * time.Second

// batchPeriod is how long changes are collected before the next observation.
const batchPeriod = 200 * time.Millisecond

// Watch calls look at once, after each change, and after atLeast without one, until ctx ends or look fails.
func (c *Cluster) Watch(ctx context.Context, namespace string, atLeast time.Duration, look func(context.Context) error) error {
	changed := make(chan struct{}, 1)
	note := func() {
		select {
		case changed <- struct{}{}:
		default: // A call of look is pending already.
		}
	}
	handler := cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { note() }, UpdateFunc: func(any, any) { note() }, DeleteFunc: func(any) { note() },
	}
	kube := informers.NewSharedInformerFactory(c.Kube, 0)
	olm := olmclient.Informers{
		olmclient.NewInformer(c.OLM.WebhookRollouts(namespace)),
		olmclient.NewSelectingInformer(c.OLM.ClusterServiceVersions(namespace), csvspec.SelectUnlabelled),
	}
	for _, informer := range append(olm,
		kube.Admissionregistration().V1().ValidatingWebhookConfigurations().Informer(),
		kube.Admissionregistration().V1().MutatingWebhookConfigurations().Informer(),
	) {
		if err := informer.SetWatchErrorHandlerWithContext(handleWatchError); err != nil {
			return err
		}
		if _, err := informer.AddEventHandler(handler); err != nil {
			return err
		}
	}
	kube.StartWithContext(ctx)
	olm.StartWithContext(ctx)
	for note(); ; {
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		case <-time.After(atLeast):
		}
		if err := look(ctx); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(batchPeriod):
		}
	}
}

// handleWatchError does not log missing or forbidden kinds: the observation reports them.
func handleWatchError(ctx context.Context, r *cache.Reflector, err error) {
	if !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) {
		cache.DefaultWatchErrorHandler(ctx, r, err)
	}
}
