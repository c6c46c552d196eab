package rollout

import (
	"testing"
	"time"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/webhookconfig"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/backends"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// After the order given-back, no client closes the webhook. So the order give-back closes it, and opens none.
func TestGiveBackCloses(t *testing.T) {
	for name, test := range map[string]struct {
		answer func(backends.Endpoint) backends.Answer
		ready  []string
	}{
		"the manager cannot dial the pods": {refuses, []string{"10.0.0.1"}},
		"no endpoint is ready":             {serves, nil},
		"all endpoints serve":              {serves, []string{"10.0.0.1"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := opened(t, time.Minute)
			c.CSV = c.CSV.DeepCopy()
			c.CSV.Labels = map[string]string{wellknown.LabelTakeover: wellknown.TakeoverGiveBack}
			c.answer = test.answer
			c.serve("manager", test.ready...)
			c.reconcileOpenings()
			installtest.Same(t, "the configuration", managerv1alpha1.FailOpenClosed, c.openState())
			c.wait(10 * time.Minute)
			c.reconcileOpenings()
			installtest.Same(t, "the configuration later", managerv1alpha1.FailOpenClosed, c.openState())
		})
	}
}

// A step that fails ends the plan. So a registration is closed before all other writes.
func TestClosesBeforeOtherWrites(t *testing.T) {
	for name, change := range map[string]func(*cluster){
		"the time is over": func(c *cluster) { c.wait(6 * time.Hour) },
		"withdrawn":        func(c *cluster) { delete(c.Config.Annotations, wellknown.AnnotationFailOpenAfter) },
		"the author changes the webhook": func(c *cluster) {
			c.CSV = c.CSV.DeepCopy()
			c.CSV.Spec.WebhookDefinitions[0].TimeoutSeconds = new(int32(8))
		},
		"the author removes the webhook": func(c *cluster) {
			c.CSV = c.CSV.DeepCopy()
			c.CSV.Spec.WebhookDefinitions = nil
		},
		"without a scope": obstacles["no scope"].put,
		"a rotation": func(c *cluster) {
			c.wait(6 * time.Hour)
			c.trust.CABundle, c.trust.Generation = []byte("two CAs"), 2
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := opened(t, time.Minute)
			edited := c.Observed.Deployments["manager"].DeepCopy()
			edited.Spec.Template.Spec.Containers[0].Image = "edited"
			c.store(edited)
			change(c)
			c.FailOpen.Recorded = []managerv1alpha1.WebhookRolloutStatus{*c.Previous.DeepCopy()}
			steps := c.next().Steps
			installtest.Same(t, "the first write", drift.KeyOf(c.validating("manager")), steps[0].Key())
			installtest.Same(t, "the first write closes", true, steps[0].Closes() || steps[0].Verb == Delete)
			c.decideOpenings()
			for _, live := range c.Observed.Validating {
				installtest.Same(t, "the configuration", managerv1alpha1.FailOpenClosed, webhookconfig.OpenState(live))
			}
		})
	}
}
