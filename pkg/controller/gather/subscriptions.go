package gather

import (
	"context"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/decide"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/live"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/subscriptions"
)

// awaitSubscription returns ErrStale while the caches lack the Subscription of a version without Deployments and without a
// WebhookRollout. Watches of two kinds are not ordered: without its config, another provider would issue the first certificate.
func (g *Gatherer) awaitSubscription(ctx context.Context, s *decide.Facts, now time.Time) error {
	known := s.Config.Subscription != "" || s.Rollout != nil || len(s.Observed.Deployments) > 0
	if known || s.Failure != nil || !csvspec.HasRegistrations(s.CSV) {
		return nil
	}
	// Versions that are created together need one list.
	if g.SubscriptionReads.HasNone(s.CSV.Namespace, s.CSV.UID) {
		return nil
	}
	list, err := g.OLM.Subscriptions(s.CSV.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return utilerrors.FilterOut(err, apierrors.IsNotFound) // a cluster without OLM does not have the kind
	}
	if len(list.Items) == 0 {
		g.SubscriptionReads.AddNone(s.CSV.Namespace, now)
	}
	found := g.Versions.SubscriptionOf(s.CSV, func(csv string) []*operatorsv1alpha1.Subscription {
		return slices.DeleteFunc(live.Pointers(list.Items), func(s *operatorsv1alpha1.Subscription) bool {
			return !slices.Contains(subscriptions.CSVNames(s), csv)
		})
	})
	if found != nil {
		return informers.ErrStale
	}
	return nil
}
