package reporter

import (
	"context"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/queue"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/records"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/report"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/takeover"
)

// reportRollout is only for webhooks, APIServices, objects that garbage collection does not delete, and takeovers.
func (r *Reporter) reportRollout(ctx context.Context, k queue.Key, csv *operatorsv1alpha1.ClusterServiceVersion, current *managerv1alpha1.WebhookRollout, status managerv1alpha1.WebhookRolloutStatus) (rollout.Requeue, error) {
	if current == nil {
		if !csvspec.HasRegistrations(csv) && len(status.Created) == 0 && status.Takeover == nil {
			return rollout.Requeue{}, nil
		}
		var err error
		if current, err = r.CreateRollout(ctx, k, csv); err != nil {
			return rollout.Requeue{}, err
		}
	}
	return r.UpdateRollout(ctx, k, csv, current, status)
}

// ReportGivenBack reports whether the objects of a ClusterServiceVersion are given back, for which the manager writes
// nothing else.
func (r *Reporter) ReportGivenBack(ctx context.Context, k queue.Key, csv *operatorsv1alpha1.ClusterServiceVersion, current *managerv1alpha1.WebhookRollout) (rollout.Requeue, error) {
	if current == nil {
		return rollout.Requeue{}, nil
	}
	status := *current.Status.DeepCopy()
	status.Takeover = takeover.Ended(status.Takeover)
	return r.UpdateRollout(ctx, k, csv, current, status)
}

// CreateRollout creates a WebhookRollout, or returns one that the caches do not show yet.
func (r *Reporter) CreateRollout(ctx context.Context, k queue.Key, csv *operatorsv1alpha1.ClusterServiceVersion) (*managerv1alpha1.WebhookRollout, error) {
	ctx, cancel := ownTime(ctx)
	defer cancel()
	client := r.OLM.WebhookRollouts(k.Namespace)
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

// UpdateRollout writes and reports changes. It returns when to write a status that another client contests.
func (r *Reporter) UpdateRollout(ctx context.Context, k queue.Key, csv *operatorsv1alpha1.ClusterServiceVersion, current *managerv1alpha1.WebhookRollout, status managerv1alpha1.WebhookRolloutStatus) (rollout.Requeue, error) {
	ctx, cancel := ownTime(ctx)
	defer cancel()
	if equality.Semantic.DeepEqual(current.Status, status) {
		return rollout.Requeue{}, nil
	}
	object := records.FieldObjectOf("WebhookRollout", current)
	written, requeue, err := r.Write(k, object, records.RolloutStatusFields(status), csv, func() (drift.Object, error) {
		updated := current.DeepCopy()
		updated.Status = status
		return r.OLM.WebhookRollouts(k.Namespace).UpdateStatus(ctx, updated, metav1.UpdateOptions{FieldManager: wellknown.FieldManager})
	})
	if !written {
		return requeue, err
	}
	r.Metrics.ObserveChange(k, current.Status, status, r.Now())
	for _, e := range report.EventsOf(current.Status, status) {
		r.Events.Event(csv, severity(e.Warning), e.Reason, e.Message)
	}
	return requeue, nil
}
