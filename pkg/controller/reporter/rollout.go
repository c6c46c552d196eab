package reporter

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/gather"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/queue"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/records"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/report"
)

// reportRollout writes the WebhookRollout. It exists for ClusterServiceVersions that declare webhooks,
// own APIServices, or have objects that garbage collection does not delete.
func (r *Reporter) reportRollout(ctx context.Context, k queue.Key, s *gather.Snapshot, status managerv1alpha1.WebhookRolloutStatus) error {
	if !csvspec.HasRegistrations(s.CSV) && len(status.Created) == 0 && s.Rollout == nil {
		return nil
	}
	current := s.Rollout
	if current == nil {
		var err error
		if current, err = r.CreateRollout(ctx, k, s.CSV); err != nil {
			return err
		}
	}
	return r.UpdateRollout(ctx, k, s.CSV, current, status)
}

// CreateRollout creates a WebhookRollout, or returns one that the caches do not show yet.
func (r *Reporter) CreateRollout(ctx context.Context, k queue.Key, csv *operatorsv1alpha1.ClusterServiceVersion) (*managerv1alpha1.WebhookRollout, error) {
	client := r.OLM.ManagerV1alpha1().WebhookRollouts(k.Namespace)
	created, err := client.Create(ctx, &managerv1alpha1.WebhookRollout{ObjectMeta: csvspec.OwnedMeta(csv, csv.Name)},
		metav1.CreateOptions{FieldManager: wellknown.FieldManager})
	if apierrors.IsAlreadyExists(err) {
		created, err = client.Get(ctx, k.Name, metav1.GetOptions{})
	}
	if err != nil {
		return nil, err
	}
	r.Writes.Add(k, informers.Write{Object: created, At: r.Now()})
	return created, nil
}

// UpdateRollout writes a status that differs, and reports the changes in events and metrics.
func (r *Reporter) UpdateRollout(ctx context.Context, k queue.Key, csv *operatorsv1alpha1.ClusterServiceVersion, current *managerv1alpha1.WebhookRollout, status managerv1alpha1.WebhookRolloutStatus) error {
	if equality.Semantic.DeepEqual(current.Status, status) {
		return nil
	}
	object, fields := rolloutObject(current), records.RolloutStatusFields(status)
	if held, until, _ := r.Contested.Held(object, fields, r.Now()); len(held) > 0 {
		r.Queue.AddAfter(k, until.Sub(r.Now()))
		return nil
	}
	updated := current.DeepCopy()
	updated.Status = status
	written, err := r.OLM.ManagerV1alpha1().WebhookRollouts(k.Namespace).UpdateStatus(ctx, updated, metav1.UpdateOptions{FieldManager: wellknown.FieldManager})
	if err != nil {
		return err
	}
	r.Contested.Wrote(object, fields, r.Now())
	if contest := r.Contested.Of(object); contest.Contested() {
		r.Events.Event(csv, corev1.EventTypeWarning, managerv1alpha1.ConditionContested, contest.Message(object.Title, r.Now()))
	}
	r.Writes.Add(k, informers.Write{Object: written, At: r.Now()})
	r.Metrics.ObserveChange(k, current.Status, status, r.Now())
	for _, e := range report.EventsOf(current.Status, status) {
		r.Events.Event(csv, severity(e.Warning), e.Reason, e.Message)
	}
	return nil
}

func rolloutObject(rollout *managerv1alpha1.WebhookRollout) records.FieldObject {
	return records.FieldObject{Title: "WebhookRollout " + rollout.Namespace + "/" + rollout.Name, UID: rollout.UID}
}
