package reporter

import (
	"context"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/csvstatus"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/gather"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/queue"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/records"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/phase"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/report"
)

// UpdateCSV writes the phases that the ClusterServiceVersion went through, and the
// results of its requirements.
func (r *Reporter) UpdateCSV(ctx context.Context, k queue.Key, s *gather.Snapshot, phases []phase.Phase, status managerv1alpha1.WebhookRolloutStatus) error {
	updated := s.CSV.DeepCopy()
	updated.ManagedFields = nil // the cache has some of them, the API server keeps all
	now := metav1.NewTime(r.Now())
	for _, p := range phases {
		csvstatus.Set(updated, p.Phase, p.Reason, p.Message, now)
	}
	if s.Failure == nil {
		updated.SetRequirementStatus(csvstatus.Requirements(s.Verdict.Requirements))
	}
	if !s.RotateAtPending {
		report.SetCertificates(&updated.Status, status)
	}
	if equality.Semantic.DeepEqual(s.CSV.Status, updated.Status) {
		return nil
	}
	fields := records.CSVStatusFields(updated.Status)
	if held, _, _ := r.Contested.Held(records.CSV(s.CSV), fields, r.Now()); len(held) > 0 {
		return nil // the plan has the contest and the time of the next write
	}
	written, err := r.writeCSVStatus(ctx, updated)
	if err != nil && tooLarge(err) {
		updated.SetRequirementStatus(nil) // The phase says which are not met.
		if equality.Semantic.DeepEqual(s.CSV.Status, updated.Status) {
			return nil
		}
		written, err = r.writeCSVStatus(ctx, updated)
	}
	if err != nil {
		return err
	}
	r.Contested.Wrote(records.CSV(s.CSV), fields, r.Now())
	r.Writes.Add(k, informers.Write{Object: written, At: r.Now()})
	for _, p := range phase.Milestones(s.CSV.Status.Reason, phases) {
		r.Events.Event(s.CSV, severity(p.Phase == operatorsv1alpha1.CSVPhaseFailed), string(p.Reason), p.Message)
		r.Log.WithFields(k.Fields()).WithField("reason", p.Reason).Infof("phase %s: %s", p.Phase, p.Message)
	}
	return nil
}

func (r *Reporter) writeCSVStatus(ctx context.Context, csv *operatorsv1alpha1.ClusterServiceVersion) (*operatorsv1alpha1.ClusterServiceVersion, error) {
	return r.OLM.OperatorsV1alpha1().ClusterServiceVersions(csv.Namespace).UpdateStatus(ctx, csv, metav1.UpdateOptions{FieldManager: wellknown.FieldManager})
}
