package controller

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/queue"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/failopen"
)

// returnOpenings writes the openings that a deleted version has recorded into the WebhookRollout of the version that remains: its
// own WebhookRollout is deleted. Both are read from the API server. The requeue is zero when nothing is left to write.
func (c *Controller) returnOpenings(ctx context.Context, deleted, remaining *operatorsv1alpha1.ClusterServiceVersion) (rollout.Requeue, error) {
	client := c.OLM.WebhookRollouts(deleted.Namespace)
	ended, err := client.Get(ctx, deleted.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && !failopen.HasOpenings(ended.Status) {
		return rollout.Requeue{}, nil
	}
	if err != nil {
		return rollout.Requeue{}, err
	}
	k := queue.CSVKey(remaining.Namespace, remaining.Name)
	current, err := client.Get(ctx, remaining.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		current, err = c.reporter.CreateRollout(ctx, k, remaining)
	}
	if err != nil {
		return rollout.Requeue{}, err
	}
	return c.reporter.UpdateRollout(ctx, k, remaining, current, failopen.WithOpeningsOf(ended.Status, current.Status))
}
