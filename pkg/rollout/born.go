package rollout

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// Registered are the live registrations.
func (o Observed) Registered() []types.UID {
	var all []types.UID
	for _, r := range o.registrations() {
		all = append(all, r.Object.GetUID())
	}
	return all
}

// bornAt is when a registration was created, or, where only the second is known in which it
// was, the end of that.
func (p *planner) bornAt(live drift.Object) time.Time {
	if born, known := p.Observed.Born[live.GetUID()]; known {
		return born
	}
	return wholeSecond(live.GetCreationTimestamp().Time)
}

// wholeSecond is the end of the second that an object's instant stands for.
func wholeSecond(t time.Time) time.Time { return t.Add(time.Second) }
