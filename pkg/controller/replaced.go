package controller

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/decide"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/gather"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/queue"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/requirements"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/lineage"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/phase"
)

// reconcileReplaced reconciles a version that a newer one replaces. It is deleted when the newer one has
// succeeded. The oldest version is deleted first, so that the chain of versions stays connected.
func (c *Controller) reconcileReplaced(ctx context.Context, k queue.Key, csv *operatorsv1alpha1.ClusterServiceVersion, l lineage.Lineage, newer string) error {
	if current := c.caches.Rollouts.Get(csv.Namespace, csv.Name); current != nil {
		if err := c.reporter.UpdateRollout(ctx, k, csv, current, rollout.Replaced(csv, newer, current.Status, c.now())); err != nil {
			return err
		}
	}
	if next := phase.AfterReplacement(csv.Status.Phase, newer, len(l.Older) == 0 && l.Superseded()); next != nil {
		held := &gather.Snapshot{Facts: decide.Facts{CSV: csv, Verdict: requirements.Verdict{Requirements: csv.Status.RequirementStatus}}}
		return c.reporter.UpdateCSV(ctx, k, held, []phase.Phase{*next}, managerv1alpha1.WebhookRolloutStatus{})
	}
	if csv.Status.Phase != operatorsv1alpha1.CSVPhaseDeleting {
		return nil
	}
	c.log.WithFields(k.Fields()).Infof("replaced by %s", newer)
	err := c.OLM.OperatorsV1alpha1().ClusterServiceVersions(csv.Namespace).Delete(ctx, csv.Name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(csv.UID))})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
