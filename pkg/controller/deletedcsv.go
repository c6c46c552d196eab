package controller

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/webhookconfig"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/decide"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/queue"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/uninstall"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/lineage"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/ending"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/phase"
)

// reconcileDeleted unregisters the webhooks of a ClusterServiceVersion and then removes its finalizer.
// Webhooks are unregistered first: without backends they could refuse the other deletions. APIServices
// follow: one without a backend blocks the deletion of Namespaces. Garbage collection deletes the
// namespaced objects.
//
// What to remove is read from the API server. A cache may not show yet what was just created.
//
// A version that is deleted before it replaced the previous one returns to it what it adopted, and the record of
// openings of webhooks. It closes these first: its end can take long, and the previous version decides only after it.
func (c *Controller) reconcileDeleted(ctx context.Context, k queue.Key, csv *operatorsv1alpha1.ClusterServiceVersion, relatives lineage.Lineage) (rollout.Requeue, error) {
	if !slices.Contains(csv.Finalizers, wellknown.FinalizerCSV) {
		return rollout.Requeue{}, nil
	}
	if c.closesDeleted(csv, relatives) {
		return c.closeDeleted(ctx, k, csv, relatives)
	}
	successor, backends, err := c.continuingVersion(ctx, csv, relatives)
	if err != nil {
		return rollout.Requeue{}, err
	}
	ownership, err := c.live.OwnershipOf(ctx, csv)
	if err != nil {
		return rollout.Requeue{}, err
	}
	deleted, err := c.uninstall.Unregister(ctx, csv, successor, backends, ownership)
	if deleted {
		c.records.Unregistered.Add(csv.UID, c.settle(), c.now())
	}
	refused, err := uninstall.Refusals(err)
	if err != nil {
		return rollout.Requeue{}, err
	}
	ended, inUse, err := c.endConversions(ctx, k, csv, decide.Converters(relatives, backends))
	if ended {
		c.records.Unregistered.Add(csv.UID, c.settle(), c.now())
	}
	conversions, err := uninstall.Refusals(err)
	if err != nil {
		return rollout.Requeue{}, err
	}
	refused = append(refused, conversions...)
	c.records.Unregistered.Block(csv.UID, inUse != "" || len(refused) > 0, c.now())
	deletion, err := c.askedAbout(ctx, c.deletionOf(csv, inUse, refused), csv)
	if err != nil {
		return rollout.Requeue{}, err
	}
	next, requeue := deletion.Next(c.now())
	if next == decide.ReportBlocked {
		return c.reconcileBlockedDeletion(ctx, k, csv, relatives, inUse, refused)
	}
	c.log.WithFields(k.Fields()).WithField("waits", requeue.Reason).Info("webhooks are unregistered")
	switch {
	case next == decide.RemoveFinalizer:
		return c.finish(ctx, k, csv, relatives, successor, ownership)
	case len(deletion.Behind()) > 0:
		contested, err := c.reporter.UpdateCSV(ctx, k, csv, phase.DeletionWaits(csv.Status, deletion.Behind()))
		return requeue.Earliest(contested), err
	}
	return requeue, nil
}

// continuingVersion returns the installed older version that continues what a deleted one has adopted; nil for none.
func (c *Controller) continuingVersion(ctx context.Context, csv *operatorsv1alpha1.ClusterServiceVersion, relatives lineage.Lineage) (*operatorsv1alpha1.ClusterServiceVersion, owners.Backends, error) {
	if csv.DeletionTimestamp == nil || len(relatives.Older) == 0 {
		return nil, owners.Backends{}, nil
	}
	backends, err := c.live.Backends(ctx, csv)
	if err != nil {
		return nil, owners.Backends{}, err
	}
	return relatives.Successor(backends.Installed), backends, nil
}

// finish removes what outlives the version, and its finalizer.
func (c *Controller) finish(ctx context.Context, k queue.Key, csv *operatorsv1alpha1.ClusterServiceVersion, relatives lineage.Lineage, successor *operatorsv1alpha1.ClusterServiceVersion, ownership owners.Ownership) (rollout.Requeue, error) {
	if remaining := c.keeperOf(csv, successor, relatives); remaining != nil && !c.versions.IsTerminating(csv.Namespace) {
		if contested, err := c.returnOpenings(ctx, csv, remaining); err != nil || !contested.Never() {
			return contested, err
		}
	}
	refused, err := uninstall.Refusals(c.uninstall.Finish(ctx, csv, successor, decide.OwnedByDefinitions(csv, relatives, c.gather.Owned(csv)), ownership))
	switch {
	case err != nil:
		return rollout.Requeue{}, err
	case len(refused) > 0:
		return c.reportRefusedEnd(ctx, k, csv, refused.Error())
	}
	c.records.Unregistered.Forget(csv.UID) // Until the cache lacks it, API servers are not asked again.
	return rollout.Requeue{}, nil
}

// remainingVersion returns the version that continues after the deletion of a newer one: the successor, or the nearest one if none is
// installed; nil for none.
func remainingVersion(successor *operatorsv1alpha1.ClusterServiceVersion, relatives lineage.Lineage) *operatorsv1alpha1.ClusterServiceVersion {
	return cmp.Or(successor, relatives.Successor(func(*operatorsv1alpha1.ClusterServiceVersion) bool { return true }))
}

func (c *Controller) deletionOf(csv *operatorsv1alpha1.ClusterServiceVersion, inUse string, refused uninstall.RefusedError) decide.Deletion {
	d := decide.Deletion{InUse: inUse != "", Refused: len(refused) > 0, ByNamespace: csv.DeletionTimestamp == nil}
	if ended := c.records.Unregistered.At(csv.UID); !ended.IsZero() && c.Rollout.Gate != rollout.GateAvailable {
		d.Wait = &ending.Wait{Ended: ended, Settle: c.Rollout.Settle}
	}
	return d
}

// askedAbout asks API servers if the next step depends on them. In a Namespace that is being deleted, they refuse each object, and
// about conversions and APIServices they cannot be asked: these have the settle time.
func (c *Controller) askedAbout(ctx context.Context, d decide.Deletion, csv *operatorsv1alpha1.ClusterServiceVersion) (decide.Deletion, error) {
	if next, _ := d.Next(c.now()); next != decide.AskAboutEnd {
		return d, nil
	}
	found, kinds := ending.Found{At: c.now()}, decide.DeclaredKinds(csv)
	if kinds != (webhookconfig.Kinds{}) && !c.versions.IsTerminating(csv.Namespace) {
		var err error
		if found, err = c.prober.HaveObserved(ctx, csv, kinds, c.prober.Patience()); err != nil {
			return d, err
		}
	}
	d.Wait.Found = &found
	return d, nil
}

// settle returns how long API servers may take to observe the end of a registration; 0 if nothing waits for that.
func (c *Controller) settle() time.Duration {
	if c.Rollout.Gate == rollout.GateAvailable {
		return 0
	}
	return c.Rollout.Settle
}

// reportRefusedEnd reports that the API server refuses to remove what is left of a ClusterServiceVersion
// without registrations. The WebhookRollout is read from the API server: it may just have been deleted.
func (c *Controller) reportRefusedEnd(ctx context.Context, k queue.Key, csv *operatorsv1alpha1.ClusterServiceVersion, why string) (rollout.Requeue, error) {
	current, err := c.OLM.WebhookRollouts(csv.Namespace).Get(ctx, csv.Name, metav1.GetOptions{})
	exists, details := err == nil && current.DeletionTimestamp == nil, ""
	if exists {
		details = rollout.DescribeCommand(csv)
	}
	contested, failed := c.reporter.UpdateCSV(ctx, k, csv, phase.DeletionBlocked(csv.Status, managerv1alpha1.ConditionUnregistrationRefused, why, details))
	requeue := c.retryDeletion().Earliest(contested)
	if !exists {
		return requeue, cmp.Or(failed, utilerrors.FilterOut(err, apierrors.IsNotFound))
	}
	contested, err = c.reporter.UpdateRollout(ctx, k, csv, current, rollout.Unregistered(csv, why, current.Status, c.now()))
	return requeue.Earliest(contested), cmp.Or(failed, err)
}

// countPause is the interval of what no watch reports: the objects that block a deletion, and the policies.
const countPause = 15 * time.Second

func (c *Controller) retryDeletion() rollout.Requeue {
	return rollout.Requeue{At: c.now().Add(countPause), Reason: "what blocks the deletion is checked"}
}

// endConversions returns the definitions whose objects would lose fields. For them, finalizer and backend stay.
func (c *Controller) endConversions(ctx context.Context, k queue.Key, csv *operatorsv1alpha1.ClusterServiceVersion, relatives []*operatorsv1alpha1.ClusterServiceVersion) (ended bool, inUse string, err error) {
	crds, err := c.live.Definitions(ctx, c.gather.ConvertibleNames(csv))
	if err != nil || len(crds) == 0 {
		return false, "", err
	}
	services, err := c.live.Services(ctx, csv.Namespace)
	if err != nil {
		return false, "", err
	}
	for _, relative := range relatives {
		if relative.DeletionTimestamp == nil {
			maps.DeleteFunc(crds, func(name string, _ *apiextensionsv1.CustomResourceDefinition) bool {
				return csvspec.Converts(relative, name) >= 0
			})
		}
	}
	written, inUse, err := c.uninstall.EndConversions(ctx, csv, services, crds)
	for _, crd := range written {
		c.writes.Add(k, informers.Write{Object: crd, At: c.now()})
	}
	return len(written) > 0, inUse, err
}

// reconcileBlockedDeletion reconciles a ClusterServiceVersion whose deletion waits, which may take long: its
// certificates are renewed. In a Namespace that is being deleted, nothing can be created.
func (c *Controller) reconcileBlockedDeletion(ctx context.Context, k queue.Key, csv *operatorsv1alpha1.ClusterServiceVersion, relatives lineage.Lineage, inUse string, refused uninstall.RefusedError) (rollout.Requeue, error) {
	requeue := c.retryDeletion()
	current := c.caches.Rollouts.Get(csv.Namespace, csv.Name)
	terminating, details := c.versions.IsTerminating(csv.Namespace), ""
	if terminating && inUse != "" {
		inUse = phase.NamespaceDeleted(inUse)
	}
	if current != nil || !terminating {
		details = rollout.DescribeCommand(csv)
	}
	var reason operatorsv1alpha1.ConditionReason = managerv1alpha1.ConditionConversionInUse
	if len(refused) > 0 {
		reason = managerv1alpha1.ConditionUnregistrationRefused
	}
	contested, err := c.reporter.UpdateCSV(ctx, k, csv, phase.DeletionBlocked(csv.Status, reason, uninstall.Held(inUse, refused), details))
	if err != nil {
		return rollout.Requeue{}, err
	}
	requeue = requeue.Earliest(contested)
	if current == nil && terminating {
		return requeue, nil
	}
	if current == nil {
		if current, err = c.reporter.CreateRollout(ctx, k, csv); err != nil {
			return rollout.Requeue{}, err
		}
	}
	status := *current.Status.DeepCopy()
	var deferred error
	if c.maintainsDeleted(csv, relatives) {
		_, outcome, err := c.execute(ctx, k, csv, relatives, true)
		if err != nil {
			return rollout.Requeue{}, err
		}
		status, requeue, deferred = outcome.Status, requeue.Earliest(outcome.Requeue), outcome.Deferred
	}
	for _, condition := range []metav1.Condition{
		{Type: managerv1alpha1.ConditionConversionInUse, Message: inUse},
		{Type: managerv1alpha1.ConditionUnregistrationRefused, Message: uninstall.Held("", refused)},
	} {
		rollout.SetCondition(&status, condition, csv.Generation, c.now())
	}
	contested, err = c.reporter.UpdateRollout(ctx, k, csv, current, status)
	return requeue.Earliest(contested), cmp.Or(err, deferred)
}
