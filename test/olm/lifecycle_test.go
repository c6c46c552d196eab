package olm

import (
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/calls"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/olm/catalog"
)

// A Subscription installs an operator, its channel is changed, and the Subscription is deleted, and then the
// ClusterServiceVersion. The webhook answers every call until the latter is deleted.
func TestLifecycleOfASubscription(t *testing.T) {
	for name := range examples {
		t.Run(name, func(t *testing.T) {
			e, o := newExample(t, name)
			v1 := e.example(o.bundle).Release("0.1.0")
			v2 := v1.Release("0.2.0")
			e.serve(catalog.Package{
				Name: v1.Package, DefaultChannel: "new", Bundles: []catalog.Bundle{v1, v2},
				Channels: []catalog.Channel{catalog.Chain("old", v1), catalog.Chain("new", v1, v2)},
			})
			e.subscribe(operatorsv1alpha1.SubscriptionSpec{Package: v1.Package, Channel: "old"})
			e.installs(v1.Package, v1.Name())
			load := o.load(e)

			e.changes(v1.Package, map[string]any{"channel": "new"})
			e.installs(v1.Package, v2.Name())
			e.isGone(v1.Name())
			load.GoesOn(o.answer)

			e.must(olmClient.Subscriptions(e.namespace).Delete(e.ctx, v1.Package, metav1.DeleteOptions{}))
			e.eventually("the Subscription no longer exists", func() (bool, any) {
				_, err := olmClient.Subscriptions(e.namespace).Get(e.ctx, v1.Package, metav1.GetOptions{})
				return apierrors.IsNotFound(err), err
			})
			load.GoesOn(o.answer)
			e.succeeds(v2.Name())

			deleted := time.Now()
			e.must(olmClient.ClusterServiceVersions(e.namespace).Delete(e.ctx, v2.Name(), metav1.DeleteOptions{}))
			e.isGone(v2.Name())
			load.GoesOn(calls.Uncovered)
			load.End(calls.UncoveredSince(deleted))
			e.leavesNothing()
		})
	}
}
