// Package reporter writes status, events and metrics.
package reporter

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/sirupsen/logrus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/csvstatus"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/clients"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/decide"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/execute"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/metrics"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/queue"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/write"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/report"
)

// Reporter writes status, events and metrics.
type Reporter struct {
	clients.Set
	*write.Status
	Rollout rollout.Policy
	Log     *logrus.Entry
	Metrics *metrics.Metrics
}

// ReportWhenDue may delay a report, but no change that people or later reconciliations rely on. It returns the requeue.
func (r *Reporter) ReportWhenDue(ctx context.Context, k queue.Key, facts decide.Facts, outcome execute.Outcome) (rollout.Requeue, error) {
	at := report.DelayUntil(outcome.CSV.Status, facts.Status, outcome.Status, outcome.Phases, outcome.Deployments, r.Rollout.StatusDelay)
	if !r.Now().Before(at) {
		requeue, err := r.report(ctx, k, facts, outcome)
		return outcome.Requeue.Earliest(requeue), err
	}
	delayed := outcome.Requeue.Earliest(rollout.Requeue{At: at, Reason: "a status update is delayed"})
	if !report.IsSignificant(facts.Status, outcome.Status) {
		return delayed, nil
	}
	requeue, err := r.reportRollout(ctx, k, outcome.CSV, facts.Rollout, outcome.Status)
	return delayed.Earliest(requeue), err
}

// report writes at least the phase of a ClusterServiceVersion whose WebhookRollout would be too large.
func (r *Reporter) report(ctx context.Context, k queue.Key, facts decide.Facts, outcome execute.Outcome) (rollout.Requeue, error) {
	requeue, err := r.reportRollout(ctx, k, outcome.CSV, facts.Rollout, outcome.Status)
	if err != nil && !tooLarge(err) {
		return requeue, err
	}
	contested, failed := r.UpdateCSV(ctx, k, outcome.CSV, outcome.Phases, func(status *operatorsv1alpha1.ClusterServiceVersionStatus) {
		if facts.Failure == nil {
			status.RequirementStatus = csvstatus.Requirements(outcome.Verdict.Requirements)
		}
		if !outcome.RotateAtPending {
			report.SetCertificates(status, outcome.Status)
		}
	})
	return requeue.Earliest(contested), errors.Join(err, failed)
}

const reportTimeout = 30 * time.Second

// ownTime returns a context for a status: it is written also if the reconciliation has used up its time.
func ownTime(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), reportTimeout)
}

// tooLarge reports whether the API server, or the etcd behind it, refuses an object for its size.
func tooLarge(err error) bool {
	return apierrors.IsRequestEntityTooLargeError(err) || strings.Contains(err.Error(), "etcdserver: request is too large")
}

func severity(warning bool) string {
	if warning {
		return corev1.EventTypeWarning
	}
	return corev1.EventTypeNormal
}
