package controller

import (
	"context"
	"time"

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

// lookAtReplaced is the pass over a version that a newer one has taken over from: it
// waits for that one's success, and goes. The eldest goes first, so that no version is
// cut off from those behind it.
func (c *Controller) lookAtReplaced(ctx context.Context, k queue.Key, csv *operatorsv1alpha1.ClusterServiceVersion, l lineage.Lineage, newer string) (time.Time, error) {
	if current := c.caches.Rollouts.Get(csv.Namespace, csv.Name); current != nil {
		if err := c.reporter.UpdateRollout(ctx, k, csv, current, rollout.Replaced(csv, newer, current.Status, c.now())); err != nil {
			return time.Time{}, err
		}
	}
	if next := phase.AfterReplacement(csv.Status.Phase, newer, len(l.Older) == 0 && l.Superseded()); next != nil {
		held := &gather.Snapshot{Facts: decide.Facts{CSV: csv, Verdict: requirements.Verdict{Requirements: csv.Status.RequirementStatus}}}
		return time.Time{}, c.reporter.UpdateCSV(ctx, k, held, []phase.Phase{*next}, managerv1alpha1.WebhookRolloutStatus{})
	}
	if csv.Status.Phase != operatorsv1alpha1.CSVPhaseDeleting {
		return time.Time{}, nil
	}
	c.log.WithFields(k.Fields()).Infof("replaced by %s", newer)
	err := c.OLM.OperatorsV1alpha1().ClusterServiceVersions(csv.Namespace).Delete(ctx, csv.Name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(csv.UID))})
	if apierrors.IsNotFound(err) {
		return time.Time{}, nil
	}
	return time.Time{}, err
}
