package controller

import (
	"cmp"
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/queue"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/lineage"
)

// lookAtCSV is one pass over one ClusterServiceVersion, in the way that its place among the
// versions of its operator asks for. It tells when the answer may change by itself.
func (c *Controller) lookAtCSV(ctx context.Context, k queue.Key) (time.Time, error) {
	csv := c.caches.CSVs.Get(k.Namespace, k.Name)
	if csv == nil {
		c.repairs.Forget(types.NamespacedName{Namespace: k.Namespace, Name: k.Name})
		return time.Time{}, nil
	}
	if !c.versions.Manages(csv) {
		return time.Time{}, nil
	}
	relatives := c.versions.LineageOf(csv)
	if !relatives.Alone() || len(c.versions.Contenders(csv, relatives)) > 0 {
		c.namespaceLocks.LockKey(k.Namespace)
		defer func() { _ = c.namespaceLocks.UnlockKey(k.Namespace) }() // a hashed lock never fails
		if csv = c.caches.CSVs.Get(k.Namespace, k.Name); csv == nil {
			return time.Time{}, nil // its going wakes nobody: the relatives are looked at for it
		}
		relatives = c.versions.LineageOf(csv)
	}
	if !c.shown(k, csv, relatives) {
		return time.Time{}, informers.ErrStale
	}
	// The caches may show it only since they were read.
	if csv = c.caches.CSVs.Get(k.Namespace, k.Name); csv == nil {
		return time.Time{}, nil
	}
	relatives = c.versions.LineageOf(csv)
	if c.versions.IsDeleted(csv) {
		return c.finalize(ctx, k, csv, relatives)
	}
	if newer := c.versions.SuccessorOf(relatives); newer != nil {
		return c.lookAtReplaced(ctx, k, csv, relatives, newer.Name)
	}
	return c.lookAtCurrent(ctx, k, csv, relatives)
}

// lookAtCurrent is the pass over a version that no newer one has taken over from: observe,
// decide, apply, report.
func (c *Controller) lookAtCurrent(ctx context.Context, k queue.Key, csv *operatorsv1alpha1.ClusterServiceVersion, relatives lineage.Lineage) (time.Time, error) {
	s, err := c.gather.Gather(ctx, csv, relatives)
	if err == nil {
		err = c.gather.AddNotUpgradeable(&s.Upgrade)
	}
	if err != nil {
		return time.Time{}, err
	}
	if err := c.mark(ctx, k, s); err != nil {
		return time.Time{}, err
	}
	if err := c.lift(ctx, k, s); err != nil {
		return time.Time{}, err
	}
	if err := c.keep(ctx, s); err != nil {
		return time.Time{}, err
	}
	plan, err := c.executor.Run(ctx, k, s)
	if err != nil {
		return time.Time{}, err
	}
	mirrored := c.mirrorConditions(ctx, csv) // that it fails must not keep the status from being written
	next, err := c.reporter.ReportWhenDue(ctx, k, s, plan)
	return next, cmp.Or(err, mirrored, s.Unanswered)
}

// shown tells whether the caches show what was written for a ClusterServiceVersion, for the other
// versions of its operator, and for those that contend for its Deployments.
func (c *Controller) shown(k queue.Key, csv *operatorsv1alpha1.ClusterServiceVersion, l lineage.Lineage) bool {
	for _, relative := range slices.Concat(l.Older, l.Newer, c.versions.Contenders(csv, l)) {
		if !c.writes.Fulfilled(queue.CSVKey(relative.Namespace, relative.Name), c.caches, c.now()) {
			return false
		}
	}
	return c.writes.Fulfilled(k, c.caches, c.now())
}
