package controller

import (
	"context"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/queue"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/write"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/lineage"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/phase"
)

// reconcileReplaced deletes a version when its successor has succeeded: the oldest version first, so that the
// chain of versions stays connected.
func (c *Controller) reconcileReplaced(ctx context.Context, k queue.Key, csv *operatorsv1alpha1.ClusterServiceVersion, l lineage.Lineage, newer string) (requeue rollout.Requeue, err error) {
	if current := c.caches.Rollouts.Get(csv.Namespace, csv.Name); current != nil {
		if requeue, err = c.reporter.UpdateRollout(ctx, k, csv, current, rollout.Replaced(csv, newer, current.Status, c.now())); err != nil {
			return requeue, err
		}
	}
	if next := phase.AfterReplacement(csv.Status.Phase, newer, len(l.Older) == 0 && l.Superseded()); next != nil {
		contested, err := c.reporter.UpdateCSV(ctx, k, csv, []phase.Phase{*next})
		return requeue.Earliest(contested), err
	}
	if csv.Status.Phase != operatorsv1alpha1.CSVPhaseDeleting {
		return requeue, nil
	}
	c.log.WithFields(k.Fields()).WithField("successor", newer).Info("the replaced version is deleted")
	return requeue, write.Delete(ctx, c.OLM.ClusterServiceVersions(csv.Namespace), csv)
}
