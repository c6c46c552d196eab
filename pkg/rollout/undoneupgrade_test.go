package rollout

import (
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/webhookconfig"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/failopen"
)

// decideOpenings reconciles once, and remembers. The API server confirms nothing.
func (c *cluster) decideOpenings() Plan {
	c.FailOpen.Recorded = []managerv1alpha1.WebhookRolloutStatus{*c.Previous.DeepCopy()}
	c.FailOpen.Confirmed = map[string]failopen.Answer{}
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

// undo plays shop.v2, which continues the record of this version, changes it, and is deleted before it has succeeded.
func (c *cluster) undo(restarted bool, change func(*managerv1alpha1.FailOpen)) {
	newer := *c.Previous.DeepCopy()
	change(newer.Deployments[0].Webhooks[0].FailOpen)
	installtest.Same(c.t, "awaits openings", false, AwaitsOpenings(c.Previous, c.CSV, &managerv1alpha1.WebhookRollout{Status: newer}, c.now))
	for range 2 {
		c.Previous = Replaced(c.CSV, "shop.v2", c.Previous, c.now)
	}
	for range 2 {
		c.Previous = failopen.WithOpeningsOf(newer, c.Previous)
	}
	c.Previous = Replaced(c.CSV, "shop.v2", c.Previous, c.now) // the caches still show shop.v2
	for of, m := range c.FailOpen.Memories {
		c.FailOpen.Memories[of] = m.Interrupted()
	}
	if restarted {
		c.FailOpen.Memories = nil
	}
}

// shop.v2 was open, too. Its WebhookRollout ends with it, and the audit needs all openings.
func TestUndoneUpgradeKeepsTheRecord(t *testing.T) {
	for name, restarted := range map[string]bool{"the manager restarts": true, "the manager runs on": false} {
		t.Run(name, func(t *testing.T) {
			c := opened(t, time.Minute)
			c.pass(40 * time.Minute)
			c.serve("manager", "10.0.0.1")
			c.reconcileOpenings()
			first, seconds := c.failOpen().Openings[0], c.failOpen().OpenSeconds
			installtest.Same(t, "closed by", managerv1alpha1.ClosedServed, first.ClosedBy)
			second := *first.DeepCopy()
			second.From.Time, second.Until.Time = c.now.Add(time.Minute).Truncate(time.Second), c.now.Add(31*time.Minute).Truncate(time.Second)
			c.undo(restarted, func(f *managerv1alpha1.FailOpen) {
				f.Openings, f.OpenSeconds = append(f.Openings, second), f.OpenSeconds+1800
			})
			installtest.Same(t, "webhooks in the status while it is replaced", 0, len(c.Previous.Deployments))
			c.wait(time.Hour)
			c.reconcileOpenings()
			installtest.Same(t, "the openings", []managerv1alpha1.Opening{first, second}, c.failOpen().Openings)
			installtest.Same(t, "open seconds", seconds+1800, c.failOpen().OpenSeconds)
			installtest.Same(t, "what is still kept apart", 0, len(c.Previous.KeptOpenings))
		})
	}
}

// shop.v2 has used the time of 24 hours: this version opens nothing before its endpoints have served, and then for no longer.
func TestUndoneUpgradeKeepsTheLimit(t *testing.T) {
	c := opened(t, time.Minute)
	c.pass(10 * time.Minute)
	closed := c.validating("manager").DeepCopy()
	webhookconfig.Close(closed, new(admissionregistrationv1.Fail), new(int32(7)))
	c.store(closed)
	c.undo(true, func(f *managerv1alpha1.FailOpen) {
		o := &f.Openings[0]
		o.Until, o.ClosedBy, f.State = new(metav1.NewTime(o.From.Add(5*time.Hour))), managerv1alpha1.ClosedTimeOver, managerv1alpha1.FailOpenClosed
	})
	c.wait(6 * time.Hour)
	c.pass(5 * time.Minute)
	installtest.Same(t, "without a proof", managerv1alpha1.FailOpenClosed, c.openState())
	c.serve("manager", "10.0.0.1")
	c.reconcileOpenings()
	installtest.Same(t, "a proof is recorded", true, c.failOpen().LastServedTime != nil)
	c.Observed.Slices = map[string][]*discoveryv1.EndpointSlice{}
	c.pass(5 * time.Minute)
	installtest.Same(t, "after a proof, without time", managerv1alpha1.FailOpenClosed, c.openState())
}

// The webhook is open when shop.v2 is deleted: the opening lasts, and its record continues.
func TestUndoneUpgradeWhileOpen(t *testing.T) {
	c := opened(t, time.Minute)
	first := c.failOpen().Openings[0]
	c.undo(true, func(*managerv1alpha1.FailOpen) {})
	c.wait(time.Minute)
	c.reconcileOpenings()
	installtest.Same(t, "the configuration", managerv1alpha1.FailOpenPartly, c.openState())
	installtest.Same(t, "the openings", []managerv1alpha1.Opening{first}, c.failOpen().Openings)
}

// The WebhookRollout of shop.v2 is deleted by another client. What this version has recorded remains.
func TestReplacedKeepsTheRecord(t *testing.T) {
	c := opened(t, time.Minute)
	c.serve("manager", "10.0.0.1")
	c.reconcileOpenings()
	first := c.failOpen().Openings[0]
	c.Previous = Replaced(c.CSV, "shop.v2", c.Previous, c.now)
	next := c.upgradeTo(c.CSV.Spec.WebhookDefinitions[0])
	next.Config, next.FailOpen = c.Config, FailOpen{Recorded: []managerv1alpha1.WebhookRolloutStatus{{}, c.Previous}}
	next.Upgrade.Started = true
	decision := next.next().FailOpen[csvspec.IdentityOf(c.CSV.Spec.WebhookDefinitions[0])]
	installtest.Same(t, "the openings of shop.v2", []managerv1alpha1.Opening{first}, decision.Record.Openings)
	c.FailOpen.Memories = nil
	c.reconcileOpenings()
	installtest.Same(t, "the openings of shop.v1", []managerv1alpha1.Opening{first}, c.failOpen().Openings)
}

// A record stays until a decision continues it: of a webhook that this version does not declare, or while the webhooks belong to
// another version.
func TestKeptUntilContinued(t *testing.T) {
	other := managerv1alpha1.KeptOpenings{Type: operatorsv1alpha1.MutatingAdmissionWebhook, GenerateName: "v.example.com", FailOpen: managerv1alpha1.FailOpen{
		State: managerv1alpha1.FailOpenClosed, Openings: []managerv1alpha1.Opening{{From: metav1.NewTime(noon), ClosedBy: managerv1alpha1.ClosedServed}},
	}}
	c := opened(t, time.Minute)
	c.Previous.KeptOpenings = []managerv1alpha1.KeptOpenings{other}
	c.reconcileOpenings()
	installtest.Same(t, "of another webhook", []managerv1alpha1.KeptOpenings{other}, c.Previous.KeptOpenings)
	c.DeletionBlocked = true
	c.reconcileOpenings()
	installtest.Same(t, "while the deletion waits", []managerv1alpha1.KeptOpenings{other}, c.Previous.KeptOpenings)
	c.DeletionBlocked = false
	of := csvspec.IdentityOf(c.CSV.Spec.WebhookDefinitions[0])
	other.Type, other.GenerateName = of.Type, of.GenerateName
	next := c.upgradeTo(c.CSV.Spec.WebhookDefinitions[0])
	next.Config = c.Config
	next.Upgrade.NotReady = "not ready"
	next.Previous.KeptOpenings = []managerv1alpha1.KeptOpenings{other}
	next.reconcile()
	installtest.Same(t, "while the upgrade waits", []managerv1alpha1.KeptOpenings{other}, next.Previous.KeptOpenings)
}
