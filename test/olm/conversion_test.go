package olm

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/crdconversion/convert"
	"github.com/olm-webhook-manager/olm-webhook-manager/examples/crdconversion/test/caches"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/calls"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/olm/catalog"
)

// A Subscription installs an operator, and a change of its channel upgrades the operator to a version with a conversion
// webhook. Every read of a Cache is answered: in v1 all the time, in v2 since the webhook is live.
func TestConversionFromACatalog(t *testing.T) {
	e := newEnv(t, "crdconversion", operatorsv1.OperatorGroupSpec{})
	v1, v2 := e.example("crdconversion/bundle-v1"), e.example("crdconversion/bundle-v2")
	e.serve(catalog.Package{
		Name: v1.Package, DefaultChannel: "v2", Bundles: []catalog.Bundle{v1, v2},
		Channels: []catalog.Channel{catalog.Chain("v1", v1), catalog.Chain("v2", v1, v2)},
	})
	client := &caches.Client{Dynamic: dynamicClient, Namespace: "default"}

	e.subscribe(operatorsv1alpha1.SubscriptionSpec{Package: v1.Package, Channel: "v1"})
	e.installs(v1.Package, v1.Name())
	e.Cleanup(func() { removeCaches(e, client) })
	createCache(e, client, caches.New(convert.V1, "sessions", map[string]any{"size": "3x512Mi"}))

	readers := calls.Start(t, between, client.Reads(t, caches.Authored, []schema.GroupVersion{convert.V1}, "sessions"))
	readers.GoesOn(calls.Converted)
	e.changes(v1.Package, map[string]any{"channel": "v2"})
	e.installs(v1.Package, v2.Name())
	e.isGone(v1.Name())
	readers.GoesOn(calls.Converted)
	client.RoundTrips(t, 50)
	both := calls.Start(t, between, client.Reads(t, caches.Authored, caches.Versions, "sessions"))
	both.GoesOn(calls.Converted)
	both.End(calls.Never)
	readers.End(calls.Never)
}

func createCache(e *env, client *caches.Client, cache *unstructured.Unstructured) {
	e.Helper()
	_, err := client.In(cache.GroupVersionKind().GroupVersion()).Create(e.ctx, cache, metav1.CreateOptions{})
	e.must(err)
}

// removeCaches deletes all Caches while there is a webhook to convert what is deleted.
func removeCaches(e *env, client *caches.Client) {
	e.Helper()
	e.must(client.In(convert.V1).DeleteCollection(context.WithoutCancel(e.ctx), metav1.DeleteOptions{}, metav1.ListOptions{}))
}
