package rollout

import (
	"time"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// Lift keeps permissions of a previous version until this version replaces it.
func Lift(csv *operatorsv1alpha1.ClusterServiceVersion, desired, live []drift.Object, o Observed, u Upgrade, now time.Time) []Step {
	var steps []Step
	add := func(step Step) {
		if step, ok := o.unlessContested(step, now); ok {
			steps = append(steps, step)
		}
	}
	existing, needed := map[string]drift.Object{}, map[string]bool{}
	for _, l := range live {
		existing[drift.KeyOf(l)] = l
	}
	for _, w := range desired {
		key := drift.KeyOf(w)
		needed[key] = true
		if l := existing[key]; o.Refused[key] != "" || l != nil && !u.Started && !csvspec.HasOwnerLabels(l, csv) {
			continue
		}
		if step, ok := o.stepTo(w, existing[key]); ok {
			add(step)
		}
	}
	for _, l := range live {
		if !needed[drift.KeyOf(l)] && csvspec.HasOwnerLabels(l, csv) {
			add(Step{Verb: Delete, Object: l, Live: l})
		}
	}
	return steps
}
