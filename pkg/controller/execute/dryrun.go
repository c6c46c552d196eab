package execute

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/decide"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/records"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// refuseOrphaned stops before it gives orphaned objects their owner again: garbage collection would delete them.
func (r *run) refuseOrphaned(ctx context.Context, steps []rollout.Step) error {
	lostOwner := func(step rollout.Step) bool {
		return step.Live != nil && csvspec.HasOwnerLabels(step.Live, r.csv) && !csvspec.Owns(r.csv, step.Live) && csvspec.Owns(r.csv, step.Object)
	}
	if !slices.ContainsFunc(steps, lostOwner) {
		return nil
	}
	list, err := r.OLM.ClusterServiceVersions(r.csv.Namespace).List(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, r.csv.Name).String(),
	})
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(list.Items, func(live operatorsv1alpha1.ClusterServiceVersion) bool {
		return live.UID == r.csv.UID && live.DeletionTimestamp == nil
	}) {
		return informers.ErrStale
	}
	return nil
}

// dryRun asks once whether admission changed an object. Webhooks without dry runs are observed in the write itself. Dry runs
// can use up the time of a reconciliation: none precedes the end of an opening.
func (r *run) dryRun(ctx context.Context, steps []rollout.Step) (accepted bool) {
	if slices.ContainsFunc(steps, rollout.Step.Closes) {
		return false
	}
	for _, step := range steps {
		if !step.NeedsDryRun || r.dryRuns[step.Key()] {
			continue
		}
		r.dryRuns[step.Key()] = true
		dry := step
		dry.DryRun = true
		answer, _, err := r.sender.Send(ctx, r.csv.Namespace, dry)
		if err != nil || answer == nil {
			continue
		}
		if write, same := drift.WriteOfDryRun(step.Desired, step.Live, answer); same {
			r.learn(decide.Accepted{Key: step.Key(), Write: write})
			r.Repairs.Wrote(records.NameOf(r.csv), step.Key(), write)
			accepted = true
		}
	}
	return accepted
}
