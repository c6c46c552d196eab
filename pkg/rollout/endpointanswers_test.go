package rollout

import (
	"testing"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/failopen"
)

// reconcileUnlabelled reconciles once. The caches show no EndpointSlice. If the API server is asked, it may have a ready endpoint,
// for example in an EndpointSlice without the label of the caches, which a tenant has created.
func (c *cluster) reconcileUnlabelled(ready bool) (asked bool) {
	c.FailOpen.Recorded, c.FailOpen.Confirmed = []managerv1alpha1.WebhookRolloutStatus{*c.Previous.DeepCopy()}, map[string][]*discoveryv1.EndpointSlice{}
	for _, service := range c.next().Confirm {
		asked, c.FailOpen.Confirmed[service] = true, nil
		if ready {
			c.FailOpen.Confirmed[service] = c.slicesWith("manager", "10.0.0.1")
		}
	}
	plan := c.reconcile()
	c.Observed.Slices = map[string][]*discoveryv1.EndpointSlice{}
	c.FailOpen.Memories = map[csvspec.Identity]failopen.Memory{}
	for webhook, decision := range plan.FailOpen {
		c.FailOpen.Memories[webhook] = decision.Memory
	}
	return asked
}

// An endpoint that only the API server has is ready until shortly before the webhook could open: it opens a minute after that.
func TestEndpointsThatNoCacheShows(t *testing.T) {
	c := lost(t)
	c.wait(time.Second)
	before := *c.Previous.DeepCopy()
	for second := range 140 {
		c.reconcileUnlabelled(second < 57)
		if second < 57 {
			installtest.Same(t, "the status, while an endpoint is ready", before, c.Previous)
		}
		if second < 116 {
			installtest.Same(t, "less than a minute after the endpoint was lost", managerv1alpha1.FailOpenClosed, c.openState())
		}
		c.wait(time.Second)
	}
	installtest.Same(t, "more than a minute and a pause after it was lost", managerv1alpha1.FailOpenPartly, c.openState())
}

// An answer is for all webhooks of the Service.
func TestOneQuestionForAService(t *testing.T) {
	named := func(name string) operatorsv1alpha1.WebhookDescription {
		return webhookOf("manager", func(d *operatorsv1alpha1.WebhookDescription) { d.GenerateName = name })
	}
	c := installed(t, named("a.example.com"), named("b.example.com"))
	allowOpenings(c)
	c.reconcileOpenings()
	c.Observed.Slices = map[string][]*discoveryv1.EndpointSlice{}
	c.FailOpen.Recorded, c.FailOpen.Confirmed = []managerv1alpha1.WebhookRolloutStatus{*c.Previous.DeepCopy()}, map[string][]*discoveryv1.EndpointSlice{}
	installtest.Same(t, "the questions", []string{"manager-service"}, c.next().Confirm)
	asked := 0
	for range 60 {
		if c.reconcileUnlabelled(false) {
			asked++
		}
		c.wait(time.Second)
	}
	if asked < 6 || asked > 12 {
		t.Errorf("asked %d times in a minute", asked)
	}
}
