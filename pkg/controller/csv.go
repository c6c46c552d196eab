package controller

import (
	"cmp"
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/queue"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/lineage"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/phase"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
)

// lookAtCSV is one pass over one ClusterServiceVersion, in the way that its place among the
// versions of its operator asks for. It tells when the answer may change by itself.
func (c *Controller) lookAtCSV(ctx context.Context, k queue.Key) (time.Time, error) {
	csv := c.caches.CSVs.Get(k.Namespace, k.Name)
	if csv == nil {
		c.repairs.Forget(types.NamespacedName{Namespace: k.Namespace, Name: k.Name})
		return time.Time{}, nil
	}
	if !c.versions.manages(csv) {
		return time.Time{}, nil
	}
	relatives := c.versions.lineage(csv)
	if !relatives.Alone() || len(c.versions.contenders(csv, relatives)) > 0 {
		c.namespaceLocks.LockKey(k.Namespace)
		defer func() { _ = c.namespaceLocks.UnlockKey(k.Namespace) }() // a hashed lock never fails
		if csv = c.caches.CSVs.Get(k.Namespace, k.Name); csv == nil {
			return time.Time{}, nil // its going wakes nobody: the relatives are looked at for it
		}
		relatives = c.versions.lineage(csv)
	}
	if !c.shown(k, csv, relatives) {
		return time.Time{}, informers.ErrStale
	}
	// The caches may show it only since they were read.
	if csv = c.caches.CSVs.Get(k.Namespace, k.Name); csv == nil {
		return time.Time{}, nil
	}
	relatives = c.versions.lineage(csv)
	if c.versions.leaving(csv) {
		return c.finalize(ctx, k, csv, relatives)
	}
	if newer := c.versions.successor(relatives); newer != nil {
		return c.lookAtReplaced(ctx, k, csv, relatives, newer.Name)
	}
	return c.lookAtCurrent(ctx, k, csv, relatives)
}

// lookAtCurrent is the pass over a version that no newer one has taken over from: observe,
// decide, apply, report.
func (c *Controller) lookAtCurrent(ctx context.Context, k queue.Key, csv *operatorsv1alpha1.ClusterServiceVersion, relatives lineage.Lineage) (time.Time, error) {
	s, err := c.gather.observe(ctx, csv, relatives)
	if err == nil {
		err = c.gather.askUpgradeable(&s.Upgrade)
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
	plan, err := c.executor.carryOut(ctx, k, s)
	if err != nil {
		return time.Time{}, err
	}
	mirrored := c.mirrorConditions(ctx, csv) // that it fails must not keep the status from being written
	next, err := c.reporter.reportPatiently(ctx, k, s, plan)
	return next, cmp.Or(err, mirrored, s.unanswered)
}

// shown tells whether the caches show what was written for a ClusterServiceVersion, for the other
// versions of its operator, and for those that contend for its Deployments.
func (c *Controller) shown(k queue.Key, csv *operatorsv1alpha1.ClusterServiceVersion, l lineage.Lineage) bool {
	for _, relative := range slices.Concat(l.Older, l.Newer, c.versions.contenders(csv, l)) {
		if !c.writes.Fulfilled(queue.CSVKey(relative.Namespace, relative.Name), c.caches, c.now()) {
			return false
		}
	}
	return c.writes.Fulfilled(k, c.caches, c.now())
}

// manages tells which ClusterServiceVersions are looked after: neither copies nor
// those of namespaces that are somebody else's.
func (c *versions) manages(csv *operatorsv1alpha1.ClusterServiceVersion) bool {
	return !csv.IsCopied() && c.inScope(csv.Namespace)
}

func (c *versions) inScope(namespace string) bool {
	return len(c.Namespaces) == 0 || slices.Contains(c.Namespaces, namespace)
}

// leaving tells whether the ClusterServiceVersion is on its way out, alone or with
// its Namespace, where nothing can be created any more.
func (c *versions) leaving(csv *operatorsv1alpha1.ClusterServiceVersion) bool {
	if csv.DeletionTimestamp != nil {
		return true
	}
	return c.terminating(csv.Namespace)
}

func (c *versions) terminating(name string) bool {
	namespace := c.caches.Namespaces.Get("", name)
	return namespace != nil && (namespace.DeletionTimestamp != nil || namespace.Status.Phase == corev1.NamespaceTerminating)
}

// scopeKnown tells whether there is a scope, if only one that is not supported, or that
// somebody else has the better right to.
func scopeKnown(failure *scope.Failure) bool {
	return failure == nil || failure.Reason == operatorsv1alpha1.CSVReasonUnsupportedOperatorGroup || scope.Yields(failure.Reason)
}

// carryOut decides and applies until there is nothing left to learn in this pass: a
// decision may ask for endpoints to be dialled, and the API server's answer to a
// write may be something that the caches did not show. What was lacking and has been made
// is as good as shown by them: what follows from it need not wait for another pass.
func (c *executor) carryOut(ctx context.Context, k queue.Key, s *snapshot) (rollout.Plan, error) {
	begun := s.CSV
	var walked []phase.Phase
	for {
		decided, err := c.decide(ctx, s, c.now())
		plan := decided.Plan
		if err != nil {
			return plan, err
		}
		if c.rehearse(ctx, s, plan.Steps) {
			continue // what admission changed needs no write
		}
		disowned, err := c.disowned(ctx, s.CSV, plan.Steps)
		if err != nil {
			return plan, err
		}
		if disowned {
			return plan, informers.ErrStale
		}
		news, err := c.apply(ctx, k, s, plan.Steps)
		if err != nil {
			return plan, err
		}
		if len(plan.Probes) > 0 {
			c.prober.dial(ctx, s, plan.Probes)
		}
		if len(plan.Count) > 0 {
			c.writer.count(ctx, s.Observed.CRDs, plan.Count, s.Observed.ObjectCounts)
		}
		switch {
		case news == made:
			walked = append(walked, plan.Phases...)
			s.goOn(plan, c.now())
		case news == none && len(plan.Probes) == 0 && len(plan.Count) == 0:
			s.CSV, plan.Phases = begun, append(walked, plan.Phases...)
			return plan, nil
		}
	}
}

// goOn takes what a plan reports as reported, though it is not written yet.
func (s *snapshot) goOn(plan rollout.Plan, now time.Time) {
	csv, at := *s.CSV, metav1.NewTime(now)
	csv.Status = *s.CSV.Status.DeepCopy()
	for _, p := range plan.Phases {
		csv.SetPhase(p.Phase, p.Reason, p.Message, &at)
	}
	s.CSV, s.Status = &csv, plan.Status
}

// earliest returns the earlier of two instants, where zero is never.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
