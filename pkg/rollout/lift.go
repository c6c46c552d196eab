package rollout

import (
	"time"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// Lift are the writes that make the permissions which are lifted be as wanted. What an
// older version has lifted stays as it is until this one takes over. What nobody wants any
// more goes.
func Lift(csv *operatorsv1alpha1.ClusterServiceVersion, wanted, live []drift.Object, o Observed, u Upgrade, now time.Time) []Step {
	var steps []Step
	there, needed := map[string]drift.Object{}, map[string]bool{}
	for _, l := range live {
		there[drift.KeyOf(l)] = l
	}
	for _, w := range wanted {
		key := drift.KeyOf(w)
		needed[key] = true
		if l := there[key]; o.Refused[key] != "" || l != nil && !u.Began && !csvspec.HasOwnerLabels(l, csv) {
			continue
		}
		if step, ok := stepTo(w, there[key], o, now); ok {
			steps = append(steps, step)
		}
	}
	for _, l := range live {
		if !needed[drift.KeyOf(l)] && csvspec.HasOwnerLabels(l, csv) {
			if step, ok := o.deletion(l, now); ok {
				steps = append(steps, step)
			}
		}
	}
	return steps
}
