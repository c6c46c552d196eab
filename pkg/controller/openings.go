package controller

import (
	"cmp"
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/webhookconfig"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/queue"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/lineage"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
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
	return c.reporter.UpdateRollout(ctx, k, remaining, current, failopen.WithOpeningsOf(failopen.Closed(ended.Status, c.now().Add(c.Rollout.Settle)), current.Status))
}

// maintainsDeleted reports whether a deleted version still decides. Otherwise its successor does, or nothing can.
func (c *Controller) maintainsDeleted(csv *operatorsv1alpha1.ClusterServiceVersion, relatives lineage.Lineage) bool {
	return c.versions.SuccessorOf(relatives) == nil && !c.versions.IsTerminating(csv.Namespace)
}

// closesDeleted reports whether a deleted version must close webhooks, or record that, before its end. It tries to for a limited
// time: after that, its registrations end as they are.
func (c *Controller) closesDeleted(csv *operatorsv1alpha1.ClusterServiceVersion, relatives lineage.Lineage) bool {
	return len(relatives.Older) > 0 && c.maintainsDeleted(csv, relatives) && (c.isOpen(csv, relatives) || c.recordsOpening(csv)) && c.records.Closings.Lasts(csv.UID, c.now())
}

// isOpen reports whether a webhook is open that a version has registered, or continues.
func (c *Controller) isOpen(csv *operatorsv1alpha1.ClusterServiceVersion, relatives lineage.Lineage) bool {
	owners := informers.OwnerIDs(csv, relatives.Older)
	ownership := c.versions.OwnershipOf(append([]*operatorsv1alpha1.ClusterServiceVersion{csv}, relatives.Older...)...)
	isOpen := func(o drift.Object) bool {
		return webhookconfig.OpenState(o) != managerv1alpha1.FailOpenClosed && ownership.Proves(o)
	}
	configurations := slices.Concat(drift.Objects(c.caches.Validating.OfOwners(owners)), drift.Objects(c.caches.Mutating.OfOwners(owners)))
	return slices.ContainsFunc(configurations, isOpen)
}

func (c *Controller) recordsOpening(csv *operatorsv1alpha1.ClusterServiceVersion) bool {
	current := c.caches.Rollouts.Get(csv.Namespace, csv.Name)
	return current != nil && failopen.HasLastingOpening(current.Status)
}

// closeDeleted closes the webhooks of a deleted version, or records that they are closed.
func (c *Controller) closeDeleted(ctx context.Context, k queue.Key, csv *operatorsv1alpha1.ClusterServiceVersion, relatives lineage.Lineage) (rollout.Requeue, error) {
	current := c.caches.Rollouts.Get(csv.Namespace, csv.Name)
	if current == nil {
		var err error
		if current, err = c.reporter.CreateRollout(ctx, k, csv); err != nil {
			return rollout.Requeue{}, err
		}
	}
	_, outcome, err := c.execute(ctx, k, csv, relatives, true)
	if err != nil {
		return rollout.Requeue{}, err
	}
	contested, err := c.reporter.UpdateRollout(ctx, k, csv, current, outcome.Status)
	return c.retryDeletion().Earliest(outcome.Requeue, contested), cmp.Or(err, outcome.Deferred)
}

// keeperOf returns the version whose WebhookRollout keeps the openings of a deleted version: the one that remains, or another one that
// has replaced it, if it is deleted, too; nil for none.
func (c *Controller) keeperOf(deleted, successor *operatorsv1alpha1.ClusterServiceVersion, relatives lineage.Lineage) *operatorsv1alpha1.ClusterServiceVersion {
	if remaining := remainingVersion(successor, relatives); remaining != nil {
		return remaining
	}
	siblings := notDeleted(c.versions.SiblingsOf(deleted, relatives))
	if started := c.versions.SuccessorOf(lineage.Lineage{Newer: siblings}); started != nil || len(siblings) == 0 {
		return started
	}
	return siblings[0]
}

// awaitsOpenings reports whether a replaced version has openings that the version has not recorded which decides now: it replaces this
// one, and is not being deleted. That version is enqueued. It may have succeeded before the openings were returned to this one.
func (c *Controller) awaitsOpenings(l lineage.Lineage, newer string, current *managerv1alpha1.WebhookRollout) bool {
	successor := cmp.Or(c.versions.SuccessorOf(lineage.Lineage{Newer: notDeleted(l.Newer)}), c.caches.CSVs.Get(current.Namespace, newer))
	if successor == nil || !rollout.AwaitsOpenings(current.Status, successor, c.caches.Rollouts.Get(current.Namespace, successor.Name), c.now()) {
		return false
	}
	c.versions.Enqueue(successor)
	return true
}

func notDeleted(all []*operatorsv1alpha1.ClusterServiceVersion) []*operatorsv1alpha1.ClusterServiceVersion {
	return slices.DeleteFunc(slices.Clone(all), func(csv *operatorsv1alpha1.ClusterServiceVersion) bool { return csv.DeletionTimestamp != nil })
}
