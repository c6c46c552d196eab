package rollout

import (
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/webhookconfig"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/failopen"
)

// decideOpenings reconciles once, and remembers. The API server confirms nothing.
func (c *cluster) decideOpenings() Plan {
	c.FailOpen.Recorded = []managerv1alpha1.WebhookRolloutStatus{*c.Previous.DeepCopy()}
	c.FailOpen.Confirmed = map[string][]*discoveryv1.EndpointSlice{}
	plan := c.reconcile()
	c.FailOpen.Memories = map[csvspec.Identity]failopen.Memory{}
	for webhook, decision := range plan.FailOpen {
		c.FailOpen.Memories[webhook] = decision.Memory
	}
	return plan
}

// shop.v2 adopts an open webhook, proves that it serves, and closes it. It is deleted before it has succeeded, and shop.v1
// replaces its pods: for a moment, no endpoint is ready.
func TestUndoneUpgradeOpensNothing(t *testing.T) {
	for name, ready := range map[string][]string{"no endpoint for a moment": nil, "all endpoints serve": {"10.0.0.1"}} {
		t.Run(name, func(t *testing.T) {
			c := opened(t, 2*time.Minute)
			for of, m := range c.FailOpen.Memories {
				c.FailOpen.Memories[of] = m.Interrupted()
			}
			closed := c.validating("manager").DeepCopy()
			webhookconfig.Close(closed, new(admissionregistrationv1.Fail), new(int32(7)))
			c.store(closed)
			c.Previous = Replaced(c.CSV, "shop.v2", c.Previous, c.now)
			c.wait(20 * time.Minute)
			c.Observed.Slices = map[string][]*discoveryv1.EndpointSlice{}
			if ready != nil {
				c.serve("manager", ready...)
			}
			for range 5 {
				c.decideOpenings()
				installtest.Same(t, "the configuration in the first seconds", managerv1alpha1.FailOpenClosed, c.openState())
				c.wait(time.Second)
			}
		})
	}
}
