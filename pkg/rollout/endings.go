package rollout

import (
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/ending"
)

// mayBeCalled reports whether some API server may still call webhooks of which the last one was unregistered at a time.
func (x *remover) mayBeCalled(ended time.Time, settle time.Duration) bool {
	if x.Policy.Gate == GateAvailable || ended.IsZero() {
		return false
	}
	decision := ending.Wait{Ended: ended, Settle: settle, Found: x.HaveObserved}.Decide(x.now)
	switch decision.State {
	case ending.Unasked:
		x.plan.AskAPIServers = true
	case ending.Lasts:
		x.plan.requeue(decision.Until, decision.Reason)
	default:
	}
	return decision.State != ending.Over
}
