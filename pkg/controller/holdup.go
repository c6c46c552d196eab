package controller

import (
	"cmp"
	"context"
	"time"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/decide"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/queue"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/requirements"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/lineage"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/phase"
)

// holdUp is the pass over a ClusterServiceVersion that cannot go yet. It may take long, so
// the certificates of what objects need are replaced as ever.
func (c *Controller) holdUp(ctx context.Context, k queue.Key, csv *operatorsv1alpha1.ClusterServiceVersion, relatives lineage.Lineage, inUse string) (time.Time, error) {
	again := c.now().Add(countPause)
	terminating := c.versions.terminating(csv.Namespace)
	if terminating {
		inUse = phase.NamespaceDeleted(inUse)
	}
	current := c.caches.Rollouts.Get(csv.Namespace, csv.Name)
	details := ""
	if current != nil || !terminating {
		details = rollout.DescribeCommand(csv)
	}
	if err := c.reportHeld(ctx, k, csv, inUse, details); err != nil {
		return time.Time{}, err
	}
	if current == nil && terminating {
		return again, nil // nothing can be created there any more
	}
	if current == nil {
		var err error
		if current, err = c.reporter.newRollout(ctx, k, csv); err != nil {
			return time.Time{}, err
		}
	}
	status := *current.Status.DeepCopy()
	var unanswered error
	if c.versions.successor(relatives) == nil && !terminating { // else that one looks after it, or nobody can
		s, err := c.gather.observe(ctx, csv, relatives)
		if err != nil {
			return time.Time{}, err
		}
		s.Deleting = true
		if err := c.keep(ctx, s); err != nil {
			return time.Time{}, err
		}
		plan, err := c.executor.carryOut(ctx, k, s)
		if err != nil {
			return time.Time{}, err
		}
		status, again, unanswered = plan.Status, earliest(again, plan.Requeue.At), s.unanswered
	}
	rollout.SetConversionInUse(&status, inUse, csv.Generation, c.now())
	return again, cmp.Or(c.reporter.updateRollout(ctx, k, csv, current, status), unanswered)
}

// reportHeld says in the ClusterServiceVersion itself what it waits for: of its Namespace, when that is
// being deleted, it may be all that is left.
func (c *Controller) reportHeld(ctx context.Context, k queue.Key, csv *operatorsv1alpha1.ClusterServiceVersion, inUse, details string) error {
	held := &snapshot{Facts: decide.Facts{CSV: csv, Verdict: requirements.Verdict{Requirements: csv.Status.RequirementStatus}, DuePending: true}}
	return c.reporter.reportCSV(ctx, k, held, phase.DeletionBlocked(csv.Status, inUse, details), managerv1alpha1.WebhookRolloutStatus{})
}
