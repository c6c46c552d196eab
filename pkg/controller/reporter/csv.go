package reporter

import (
	"context"

	"github.com/sirupsen/logrus"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/csvstatus"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/queue"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/records"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/phase"
)

// UpdateCSV writes phases and status. It returns when to write a status that another client contests.
func (r *Reporter) UpdateCSV(ctx context.Context, k queue.Key, csv *operatorsv1alpha1.ClusterServiceVersion, phases []phase.Phase, changes ...func(*operatorsv1alpha1.ClusterServiceVersionStatus)) (rollout.Requeue, error) {
	ctx, cancel := ownTime(ctx)
	defer cancel()
	updated := csv.DeepCopy()
	updated.ManagedFields = nil // the cache has some of them, the API server keeps all
	now := metav1.NewTime(r.Now())
	for _, p := range phases {
		csvstatus.Set(updated, p.Phase, p.Reason, p.Message, now)
	}
	for _, change := range changes {
		change(&updated.Status)
	}
	if equality.Semantic.DeepEqual(csv.Status, updated.Status) {
		return rollout.Requeue{}, nil
	}
	object, fields := records.FieldObjectOf(operatorsv1alpha1.ClusterServiceVersionKind, csv), records.CSVStatusFields(updated.Status)
	if held, until, why := r.FieldContests.Held(object, fields, now.Time); len(held) > 0 {
		return rollout.Requeue{At: until, Reason: why}, nil
	}
	written, err := r.writeCSVStatus(ctx, updated)
	if err != nil && tooLarge(err) {
		updated.SetRequirementStatus(nil) // The phase reports which are not met.
		if equality.Semantic.DeepEqual(csv.Status, updated.Status) {
			return rollout.Requeue{}, nil
		}
		written, err = r.writeCSVStatus(ctx, updated)
	}
	if err != nil {
		return rollout.Requeue{}, err
	}
	r.FieldContests.Wrote(object, fields, r.Now())
	r.Writes.Add(k, informers.Write{Object: written, At: r.Now()})
	for _, p := range phase.Milestones(csv.Status.Reason, phases) {
		r.Events.Event(csv, severity(p.Phase == operatorsv1alpha1.CSVPhaseFailed), string(p.Reason), p.Message)
		r.Log.WithFields(k.Fields()).WithFields(logrus.Fields{"phase": p.Phase, "reason": p.Reason, "message": p.Message}).Info("new phase")
	}
	return rollout.Requeue{}, nil
}

func (r *Reporter) writeCSVStatus(ctx context.Context, csv *operatorsv1alpha1.ClusterServiceVersion) (*operatorsv1alpha1.ClusterServiceVersion, error) {
	return r.OLM.ClusterServiceVersions(csv.Namespace).UpdateStatus(ctx, csv, metav1.UpdateOptions{FieldManager: wellknown.FieldManager})
}
