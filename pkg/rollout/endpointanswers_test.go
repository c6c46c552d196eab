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
	c.FailOpen.Recorded, c.FailOpen.Confirmed = []managerv1alpha1.WebhookRolloutStatus{*c.Previous.DeepCopy()}, map[string]failopen.Answer{}
	for _, service := range c.next().Confirm {
		asked, c.FailOpen.Confirmed[service] = true, failopen.Answer{At: c.now}
		if ready {
			c.FailOpen.Confirmed[service] = failopen.Answer{Slices: c.slicesWith("manager", "10.0.0.1"), At: c.now}
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
	c.FailOpen.Recorded, c.FailOpen.Confirmed = []managerv1alpha1.WebhookRolloutStatus{*c.Previous.DeepCopy()}, map[string]failopen.Answer{}
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

// One reconciliation makes several decisions, and its writes can take long. The first decision is 5 seconds before the time, and asks.
// The answer is too old for a decision after the writes: it asks again, and an endpoint that is ready meanwhile opens nothing.
func TestAnswerOfAnEarlierDecision(t *testing.T) {
	for name, test := range map[string]struct {
		writes time.Duration
		ready  bool
		asks   int
		state  managerv1alpha1.FailOpenState
	}{
		"writes of a moment":                            {time.Second, false, 0, managerv1alpha1.FailOpenClosed},
		"writes of 8 seconds":                           {8 * time.Second, false, 1, managerv1alpha1.FailOpenPartly},
		"writes of 8 seconds, and an endpoint is ready": {8 * time.Second, true, 1, managerv1alpha1.FailOpenClosed},
	} {
		t.Run(name, func(t *testing.T) {
			c := lost(t)
			of, service := csvspec.IdentityOf(c.CSV.Spec.WebhookDefinitions[0]), "manager-service"
			for since := c.now; c.now.Sub(since) < 55*time.Second; {
				c.reconcileUnlabelled(false)
				since = c.FailOpen.Memories[of].NoEndpointSince
				c.wait(time.Second)
			}
			memory := c.FailOpen.Memories[of]
			memory.AskAt = c.now.Add(-time.Millisecond)
			c.FailOpen.Memories[of] = memory
			c.FailOpen.Recorded = []managerv1alpha1.WebhookRolloutStatus{*c.Previous.DeepCopy()}
			c.FailOpen.Confirmed = map[string]failopen.Answer{}
			installtest.Same(t, "the first decision asks", []string{service}, c.next().Confirm)
			c.FailOpen.Confirmed[service] = failopen.Answer{At: c.now}
			installtest.Same(t, "openings of the second decision", 0, len(c.next().FailOpen[of].Record.Openings))
			c.wait(test.writes)
			plan := c.next()
			installtest.Same(t, "openings of the third decision", 0, len(plan.FailOpen[of].Record.Openings))
			installtest.Same(t, "questions of the third decision", test.asks, len(plan.Confirm))
			if test.asks > 0 {
				answer := failopen.Answer{At: c.now}
				if test.ready {
					answer.Slices = c.slicesWith("manager", "10.0.0.1")
				}
				c.FailOpen.Confirmed[service] = answer
			}
			installtest.Same(t, "the state after the answer", test.state, c.next().FailOpen[of].Record.State)
		})
	}
}
