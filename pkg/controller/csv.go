package controller

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/decide"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/execute"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/queue"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/write"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/lineage"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/phase"
)

// reconcileCSV reconciles one version of an operator at a time. The others wait in no worker.
func (c *Controller) reconcileCSV(ctx context.Context, k queue.Key) (rollout.Requeue, error) {
	defer c.locks.Next(k.Namespace)
	c.adopted.EndUnless(k.Namespace, func() bool { return slices.ContainsFunc(c.caches.CSVs.In(k.Namespace), isBeingTakenOver) })
	c.budgets.EndUnless(k.Namespace, func() bool { return len(c.versions.WithBudgetIn(k.Namespace)) > 0 })
	csv := c.caches.CSVs.Get(k.Namespace, k.Name)
	if csv == nil {
		c.records.Repairs.Forget(types.NamespacedName{Namespace: k.Namespace, Name: k.Name})
		c.records.FailOpen.Forget(types.NamespacedName{Namespace: k.Namespace, Name: k.Name})
		return c.originals.Reveal(ctx, k)
	}
	if !c.versions.Manages(csv) {
		return c.originals.Reveal(ctx, k)
	}
	if relatives := c.versions.LineageOf(csv); !relatives.Alone() || len(c.versions.Contenders(csv, relatives)) > 0 {
		if !c.locks.TryLock(k) {
			return rollout.Requeue{}, errLocked
		}
		defer c.locks.Unlock(k.Namespace)
		if csv = c.caches.CSVs.Get(k.Namespace, k.Name); csv == nil {
			return rollout.Requeue{}, nil
		}
	}
	if !c.showWrites(k, csv) {
		return rollout.Requeue{}, informers.ErrStale
	}
	// The caches may show the writes only since the previous read.
	if csv = c.caches.CSVs.Get(k.Namespace, k.Name); csv == nil {
		return rollout.Requeue{}, nil
	}
	return c.reconcileVersion(ctx, k, csv, c.versions.LineageOf(csv))
}

// isBeingTakenOver reports whether Deployments of a version may be as olm-operator made them.
func isBeingTakenOver(csv *operatorsv1alpha1.ClusterServiceVersion) bool {
	return csvspec.TakeoverOrder(csv) != "" && !csvspec.IsGivenBack(csv)
}

// errLocked ends a reconciliation while another one, which later adds the key, has the lock of the namespace.
var errLocked = fmt.Errorf("another version of the operator is being reconciled: %w", informers.ErrStale)

func (c *Controller) reconcileVersion(ctx context.Context, k queue.Key, csv *operatorsv1alpha1.ClusterServiceVersion, relatives lineage.Lineage) (rollout.Requeue, error) {
	if c.versions.IsDeleted(csv) {
		return c.reconcileDeleted(ctx, k, csv, relatives)
	}
	if csvspec.IsGivenBack(csv) {
		c.records.FailOpen.Interrupt(csv)
		return c.reporter.ReportGivenBack(ctx, k, csv, c.caches.Rollouts.Get(csv.Namespace, csv.Name))
	}
	if newer := c.versions.SuccessorOf(relatives); newer != nil {
		c.records.FailOpen.Interrupt(csv)
		return c.reconcileReplaced(ctx, k, csv, relatives, newer.Name)
	}
	facts, outcome, err := c.execute(ctx, k, csv, relatives, false)
	if err != nil {
		return rollout.Requeue{}, err
	}
	requeue, err := c.reporter.ReportWhenDue(ctx, k, facts, outcome)
	if err == nil {
		c.beginnings.Ask(k, outcome.AskBeginnings)
	}
	return requeue, cmp.Or(err, outcome.Deferred)
}

// installed returns a ClusterServiceVersion that is not being deleted; nil for others.
func (c *Controller) installed(k queue.Key) *operatorsv1alpha1.ClusterServiceVersion {
	csv := c.caches.CSVs.Get(k.Namespace, k.Name)
	if csv == nil || c.versions.IsDeleted(csv) {
		return nil
	}
	return csv
}

// execute gathers the facts about a version that no newer one replaces, decides and executes the plans.
func (c *Controller) execute(ctx context.Context, k queue.Key, csv *operatorsv1alpha1.ClusterServiceVersion, relatives lineage.Lineage, deleting bool) (decide.Facts, execute.Outcome, error) {
	c.versions.UpdateClaim(csv.Namespace, csv.Name)
	facts, err := c.gather.Gather(ctx, csv, relatives, deleting, c.now())
	if err != nil {
		c.records.FailOpen.Interrupt(csv)
		return facts, execute.Outcome{}, err
	}
	outcome, err := c.executor.Run(ctx, k, facts)
	c.records.FailOpen.Add(csv, outcome.FailOpen)
	return facts, outcome, err
}

// showWrites includes the writes for the other versions of the operator and for the contenders.
func (c *Controller) showWrites(k queue.Key, csv *operatorsv1alpha1.ClusterServiceVersion) bool {
	l := c.versions.LineageOf(csv)
	for _, relative := range slices.Concat(l.Older, l.Newer, c.versions.Contenders(csv, l)) {
		if !c.writes.Fulfilled(queue.CSVKey(relative.Namespace, relative.Name), c.caches, c.now()) {
			return false
		}
	}
	return c.writes.Fulfilled(k, c.caches, c.now())
}

// reconcileReplaced deletes a version after its successor has succeeded, the oldest first: the chain stays connected.
func (c *Controller) reconcileReplaced(ctx context.Context, k queue.Key, csv *operatorsv1alpha1.ClusterServiceVersion, l lineage.Lineage, newer string) (requeue rollout.Requeue, err error) {
	if current := c.caches.Rollouts.Get(csv.Namespace, csv.Name); current != nil {
		if c.awaitsOpenings(l, newer, current) {
			return rollout.Requeue{At: c.now().Add(time.Second), Reason: "the successor records the openings of webhooks"}, nil
		}
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
