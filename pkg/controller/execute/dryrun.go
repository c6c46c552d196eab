package execute

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/gather"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/records"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// isOrphaned reports whether the steps would write to objects that a deletion of their
// ClusterServiceVersion has orphaned. The caches may show the objects before the deletion. If the
// ClusterServiceVersion became their owner again, the garbage collector would delete them.
func (e *Executor) isOrphaned(ctx context.Context, csv *operatorsv1alpha1.ClusterServiceVersion, steps []rollout.Step) (bool, error) {
	lostOwner := func(step rollout.Step) bool {
		return step.Live != nil && csvspec.HasOwnerLabels(step.Live, csv) && !csvspec.Owns(csv, step.Live) && csvspec.Owns(csv, step.Object)
	}
	if !slices.ContainsFunc(steps, lostOwner) {
		return false, nil
	}
	list, err := e.OLM.OperatorsV1alpha1().ClusterServiceVersions(csv.Namespace).List(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, csv.Name).String(),
	})
	if err != nil {
		return false, err
	}
	stays := slices.ContainsFunc(list.Items, func(live operatorsv1alpha1.ClusterServiceVersion) bool {
		return live.UID == csv.UID && live.DeletionTimestamp == nil
	})
	return !stays, nil
}

// dryRun asks by dry runs whether admission made live objects differ from what is desired. A
// process does so once for an object that it has not written itself. What a dry run does not
// show, because a webhook does not take part in one, the write itself shows.
func (e *Executor) dryRun(ctx context.Context, s *gather.Snapshot, steps []rollout.Step) (accepted bool) {
	for _, step := range steps {
		if !step.NeedsDryRun || s.DryRuns[step.Key()] {
			continue
		}
		s.DryRuns[step.Key()] = true
		rehearsal := step
		rehearsal.DryRun = true
		answer, _, err := e.Writer.Send(ctx, s.CSV.Namespace, rehearsal)
		if err != nil || answer == nil {
			continue
		}
		if write, same := drift.WriteOfDryRun(step.Desired, step.Live, answer); same {
			s.Observed.Writes[step.Key()] = write
			e.Repairs.Wrote(records.NameOf(s.CSV), step.Key(), write)
			accepted = true
		}
	}
	return accepted
}
