package controller

import (
	"context"
	"errors"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/csvstatus"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/queue"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/records"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/phase"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/report"
)

// reportPatiently reports what is worth being told by now, and says when to look again. What
// people and later passes rely on, the WebhookRollout has at once.
func (c *reporter) reportPatiently(ctx context.Context, k queue.Key, s *snapshot, plan rollout.Plan) (time.Time, error) {
	at := report.DelayUntil(s.CSV.Status, s.said(), plan.Status, plan.Phases, s.Observed.Deployments, c.Rollout.StatusDelay)
	switch {
	case !c.now().Before(at):
		return plan.Requeue.At, c.report(ctx, k, s, plan)
	case report.IsSignificant(s.said(), plan.Status):
		return earliest(plan.Requeue.At, at), c.reportRollout(ctx, k, s, plan.Status)
	default:
		return earliest(plan.Requeue.At, at), nil
	}
}

// report says what the pass came to: in the WebhookRollout, in the status of the
// ClusterServiceVersion, in events and in metrics. What is said already is not said
// again. A ClusterServiceVersion whose WebhookRollout would be too large still gets its phase.
func (c *reporter) report(ctx context.Context, k queue.Key, s *snapshot, plan rollout.Plan) error {
	err := c.reportRollout(ctx, k, s, plan.Status)
	if err != nil && !tooLarge(err) {
		return err
	}
	return errors.Join(err, c.reportCSV(ctx, k, s, plan.Phases, plan.Status))
}

// tooLarge reports whether the API server, or the etcd behind it, refuses an object for its size.
func tooLarge(err error) bool {
	return apierrors.IsRequestEntityTooLargeError(err) || strings.Contains(err.Error(), "etcdserver: request is too large")
}

// reportRollout writes the WebhookRollout. It is there for ClusterServiceVersions
// that declare webhooks, own APIServices, or have something that no garbage collection removes.
func (c *reporter) reportRollout(ctx context.Context, k queue.Key, s *snapshot, status managerv1alpha1.WebhookRolloutStatus) error {
	if !csvspec.HasRegistrations(s.CSV) && len(status.Created) == 0 && s.rollout == nil {
		return nil
	}
	current := s.rollout
	if current == nil {
		var err error
		if current, err = c.newRollout(ctx, k, s.CSV); err != nil {
			return err
		}
	}
	return c.updateRollout(ctx, k, s.CSV, current, status)
}

// newRollout makes a WebhookRollout, unless there is one that the caches do not show yet.
func (c *reporter) newRollout(ctx context.Context, k queue.Key, csv *operatorsv1alpha1.ClusterServiceVersion) (*managerv1alpha1.WebhookRollout, error) {
	client := c.OLM.ManagerV1alpha1().WebhookRollouts(k.Namespace)
	created, err := client.Create(ctx, &managerv1alpha1.WebhookRollout{ObjectMeta: csvspec.OwnedMeta(csv, csv.Name)},
		metav1.CreateOptions{FieldManager: wellknown.FieldManager})
	if apierrors.IsAlreadyExists(err) {
		created, err = client.Get(ctx, k.Name, metav1.GetOptions{})
	}
	if err != nil {
		return nil, err
	}
	c.writes.Add(k, informers.Write{Object: created, At: c.now()})
	return created, nil
}

// updateRollout writes a status that differs, and tells what changed.
func (c *reporter) updateRollout(ctx context.Context, k queue.Key, csv *operatorsv1alpha1.ClusterServiceVersion, current *managerv1alpha1.WebhookRollout, status managerv1alpha1.WebhookRolloutStatus) error {
	if equality.Semantic.DeepEqual(current.Status, status) {
		return nil
	}
	fields := rolloutStatusFields(status)
	if held, until, _ := c.contested.Held(rolloutObject(current), fields, c.now()); len(held) > 0 {
		c.queue.AddAfter(k, until.Sub(c.now()))
		return nil
	}
	updated := current.DeepCopy()
	updated.Status = status
	written, err := c.OLM.ManagerV1alpha1().WebhookRollouts(k.Namespace).UpdateStatus(ctx, updated, metav1.UpdateOptions{FieldManager: wellknown.FieldManager})
	if err != nil {
		return err
	}
	c.contested.Wrote(rolloutObject(current), fields, c.now())
	if contest := c.contested.Of(rolloutObject(current)); contest.Contested() {
		c.events.Event(csv, corev1.EventTypeWarning, managerv1alpha1.ConditionContested, contest.Message(rolloutObject(current).Title, c.now()))
	}
	c.writes.Add(k, informers.Write{Object: written, At: c.now()})
	c.metrics.ObserveChange(k, current.Status, status, c.now())
	for _, e := range report.EventsOf(current.Status, status) {
		c.events.Event(csv, severity(e.Warning), e.Reason, e.Message)
	}
	return nil
}

// reportCSV writes the phases that the ClusterServiceVersion went through, and the
// results of its requirements.
func (c *reporter) reportCSV(ctx context.Context, k queue.Key, s *snapshot, phases []phase.Phase, status managerv1alpha1.WebhookRolloutStatus) error {
	updated := s.CSV.DeepCopy()
	updated.ManagedFields = nil // the cache has some of them, the API server keeps all
	now := metav1.NewTime(c.now())
	for _, p := range phases {
		csvstatus.Set(updated, p.Phase, p.Reason, p.Message, now)
	}
	if s.Failure == nil {
		updated.SetRequirementStatus(csvstatus.Requirements(s.Verdict.Requirements))
	}
	if !s.DuePending {
		report.SetCertificates(&updated.Status, status)
	}
	if equality.Semantic.DeepEqual(s.CSV.Status, updated.Status) {
		return nil
	}
	fields := csvStatusFields(updated.Status)
	if held, _, _ := c.contested.Held(markedCSV(s.CSV), fields, c.now()); len(held) > 0 {
		return nil // mark reports the contest, and the plan has the time of the next write
	}
	written, err := c.writeCSVStatus(ctx, updated)
	if err != nil && tooLarge(err) {
		updated.SetRequirementStatus(nil) // The phase says which are not met.
		if equality.Semantic.DeepEqual(s.CSV.Status, updated.Status) {
			return nil
		}
		written, err = c.writeCSVStatus(ctx, updated)
	}
	if err != nil {
		return err
	}
	c.contested.Wrote(markedCSV(s.CSV), fields, c.now())
	c.writes.Add(k, informers.Write{Object: written, At: c.now()})
	for _, p := range phase.Milestones(s.CSV.Status.Reason, phases) {
		c.events.Event(s.CSV, severity(p.Phase == operatorsv1alpha1.CSVPhaseFailed), string(p.Reason), p.Message)
		c.log.WithFields(k.Fields()).WithField("reason", p.Reason).Infof("phase %s: %s", p.Phase, p.Message)
	}
	return nil
}

func (c *reporter) writeCSVStatus(ctx context.Context, csv *operatorsv1alpha1.ClusterServiceVersion) (*operatorsv1alpha1.ClusterServiceVersion, error) {
	return c.OLM.OperatorsV1alpha1().ClusterServiceVersions(csv.Namespace).UpdateStatus(ctx, csv, metav1.UpdateOptions{FieldManager: wellknown.FieldManager})
}

func rolloutObject(rollout *managerv1alpha1.WebhookRollout) records.FieldObject {
	return records.FieldObject{Title: "WebhookRollout " + rollout.Namespace + "/" + rollout.Name, UID: rollout.UID}
}

func severity(warning bool) string {
	if warning {
		return corev1.EventTypeWarning
	}
	return corev1.EventTypeNormal
}
