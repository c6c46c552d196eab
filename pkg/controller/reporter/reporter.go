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
	"k8s.io/client-go/tools/record"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/clients"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/gather"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/metrics"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/queue"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/records"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/report"
)

// Reporter writes status, events and metrics.
type Reporter struct {
	clients.Set
	Rollout   rollout.Policy
	Contested *records.FieldContests
	Events    record.EventRecorder
	Log       *logrus.Entry
	Metrics   *metrics.Metrics
	Now       func() time.Time
	Queue     queue.Queue
	Writes    *informers.Expectations
}

// ReportWhenDue reports the result of a reconciliation unless it may be delayed, and returns when to
// reconcile next. Changes that people and later reconciliations rely on are not delayed in the
// WebhookRollout.
func (r *Reporter) ReportWhenDue(ctx context.Context, k queue.Key, s *gather.Snapshot, plan rollout.Plan) (rollout.Requeue, error) {
	at := report.DelayUntil(s.CSV.Status, s.RecordedStatus(), plan.Status, plan.Phases, s.Observed.Deployments, r.Rollout.StatusDelay)
	if !r.Now().Before(at) {
		return plan.Requeue, r.report(ctx, k, s, plan)
	}
	delayed := plan.Requeue.Earliest(rollout.Requeue{At: at, Reason: "a status update is delayed"})
	if report.IsSignificant(s.RecordedStatus(), plan.Status) {
		return delayed, r.reportRollout(ctx, k, s, plan.Status)
	}
	return delayed, nil
}

// report writes the result of a reconciliation to the WebhookRollout, the status of the
// ClusterServiceVersion, events and metrics. A ClusterServiceVersion whose WebhookRollout would be too
// large still gets its phase.
func (r *Reporter) report(ctx context.Context, k queue.Key, s *gather.Snapshot, plan rollout.Plan) error {
	err := r.reportRollout(ctx, k, s, plan.Status)
	if err != nil && !tooLarge(err) {
		return err
	}
	return errors.Join(err, r.UpdateCSV(ctx, k, s, plan.Phases, plan.Status))
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
