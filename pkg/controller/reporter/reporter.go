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

// Earliest returns the earlier of two instants, where zero is never.
func Earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// ReportWhenDue reports what is worth being told by now, and says when to look again. What
// people and later passes rely on, the WebhookRollout has at once.
func (r *Reporter) ReportWhenDue(ctx context.Context, k queue.Key, s *gather.Snapshot, plan rollout.Plan) (time.Time, error) {
	at := report.DelayUntil(s.CSV.Status, s.RecordedStatus(), plan.Status, plan.Phases, s.Observed.Deployments, r.Rollout.StatusDelay)
	switch {
	case !r.Now().Before(at):
		return plan.Requeue.At, r.report(ctx, k, s, plan)
	case report.IsSignificant(s.RecordedStatus(), plan.Status):
		return Earliest(plan.Requeue.At, at), r.reportRollout(ctx, k, s, plan.Status)
	default:
		return Earliest(plan.Requeue.At, at), nil
	}
}

// report says what the pass came to: in the WebhookRollout, in the status of the
// ClusterServiceVersion, in events and in metrics. What is said already is not said
// again. A ClusterServiceVersion whose WebhookRollout would be too large still gets its phase.
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
