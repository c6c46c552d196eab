package rollout

import (
	"slices"
	"strings"
	"testing"
	"time"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/backends"
)

// An edit gives the Deployment another name. Its webhook is called at the old one until the
// new one serves, and the old one goes when every API server knows.
func TestDeploymentIsRenamed(t *testing.T) {
	for name, delegated := range map[string]bool{"the manager's certificates": false, "the administrator's": true} {
		t.Run(name, func(t *testing.T) { renamed(t, delegated) })
	}
}

func renamed(t *testing.T, delegated bool) {
	c := installed(t, webhookOf("before", named("hook.example.com")))
	c.trust.Delegated = delegated
	c.goesOn()
	c.CSV.Spec.InstallStrategy.StrategySpec.DeploymentSpecs = nil
	c.declare("after")
	c.CSV.Spec.WebhookDefinitions[0].DeploymentName = "after"
	c.Certificates["after"] = c.Certificates["before"]
	c.answer = func(e backends.Endpoint) backends.Answer {
		if strings.Contains(e.What, "after") {
			return backends.Answer{Reason: "Refused", Message: e.What + " refuses"}
		}
		return backends.Answer{}
	}

	c.goesOn()
	plan := c.goesOn("after")
	expect(t, c.live(), "hook.example.com shop.v1 before-service")
	if w := plan.Status.Deployments[0].Webhooks[0]; w.State != "Registered" || !strings.HasPrefix(w.Message, "service before-service serves it until deployment after does: ") {
		t.Errorf("the webhook is %s: %s", w.State, w.Message)
	}
	if c.Observed.Deployments["before"] == nil {
		t.Fatal("the Deployment that serves was removed")
	}

	c.answer = func(backends.Endpoint) backends.Answer { return backends.Answer{} }
	c.goesOn()
	expect(t, c.live(), "hook.example.com shop.v1 after-service")
	c.goesOn()
	if plan := c.pass(); c.Observed.Deployments["before"] == nil || plan.Requeue.At.IsZero() {
		t.Error("the old Deployment was removed before every API server knows, or nobody looks again")
	}
	c.wait(time.Minute)
	steps := stepsOf(c.goesOn())
	if !slices.Equal(steps, []string{"delete Deployment shop/before"}) {
		t.Errorf("steps %q", steps)
	}
	if steps := stepsOf(c.goesOn()); len(steps) > 0 {
		t.Errorf("then %q", steps)
	}
	if c.CSV.Status.Phase != operatorsv1alpha1.CSVPhaseSucceeded {
		t.Errorf("it is %s: %s", c.CSV.Status.Phase, c.CSV.Status.Message)
	}
}

// Without webhooks it is enough that the new Deployment is available; those of other
// ClusterServiceVersions are none of its business.
func TestDeploymentIsNotListedAnyMore(t *testing.T) {
	c := clusterWith(t)
	c.declare("stays")
	c.declare("goes")
	c.pass()
	c.goesOn("stays")
	c.goesOn("goes")
	foreign := c.Observed.Deployments["goes"].DeepCopy()
	foreign.Name, foreign.Labels = "foreign", map[string]string{"olm.owner": "other.v1", "olm.owner.namespace": "shop", "olm.owner.kind": "ClusterServiceVersion"}
	c.Observed.Deployments["foreign"] = foreign
	c.CSV.Spec.InstallStrategy.StrategySpec.DeploymentSpecs = c.CSV.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[:1]

	c.becomeUnavailable("stays")
	if steps := stepsOf(c.goesOn()); len(steps) > 0 {
		t.Errorf("before what stays works: %q", steps)
	}
	if steps := stepsOf(c.goesOn("stays")); !slices.Equal(steps, []string{"delete Deployment shop/goes"}) {
		t.Errorf("steps %q", steps)
	}
}

// An edit leaves out a webhook and its Deployment. API servers that have not learned of it call the
// webhook for a moment longer, so that its Deployment goes later. The registration that is gone tells
// nothing any more: what is remembered is on the Deployment, for this edit alone.
func TestDeploymentAndItsWebhookAreNotListedAnyMore(t *testing.T) {
	c := installed(t, webhookOf("goes", named("hook.example.com")))
	leave := func() {
		c.CSV.Spec.InstallStrategy.StrategySpec.DeploymentSpecs = nil
		c.CSV.Spec.WebhookDefinitions = nil
		c.CSV.Generation++
	}
	before := c.CSV.Spec.DeepCopy()
	leave()
	if steps := stepsOf(c.goesOn()); !slices.Equal(steps, []string{"delete ValidatingWebhookConfiguration hook.example.com"}) {
		t.Fatalf("steps %q", steps)
	}
	if steps := stepsOf(c.goesOn()); !slices.Equal(steps, []string{"update Deployment shop/goes: metadata.annotations.olm-webhook-manager.io/unused"}) {
		t.Fatalf("then %q", steps)
	}
	if plan := c.pass(); len(plan.Steps) > 0 || plan.Requeue.At.IsZero() || plan.Requeue.At.After(c.now.Add(2*time.Second)) {
		t.Errorf("at once %q, and the next look is at %s", stepsOf(plan), plan.Requeue.At)
	}

	c.CSV.Spec, c.CSV.Generation = *before, c.CSV.Generation+1
	c.goesOn()
	c.wait(time.Minute)
	c.goesOn("goes")
	c.goesOn()
	expect(t, c.live(), "hook.example.com shop.v1 goes-service")
	leave()
	c.goesOn()
	if steps := stepsOf(c.goesOn()); !slices.Equal(steps, []string{"update Deployment shop/goes: metadata.annotations.olm-webhook-manager.io/unused"}) {
		t.Errorf("after another edit %q", steps)
	}
	c.wait(2 * time.Second)
	if steps := stepsOf(c.goesOn()); !slices.Equal(steps, []string{"delete Deployment shop/goes"}) {
		t.Errorf("a moment later %q", steps)
	}
}

// Each Deployment's certificates have numbers of their own: a registration that was rotated often
// is switched to a Deployment that has its first certificate.
func TestDeploymentIsRenamedAfterRotations(t *testing.T) {
	c := installed(t, webhookOf("before", named("hook.example.com")))
	c.trust.Generation = 7
	c.goesOn()
	c.CSV.Spec.InstallStrategy.StrategySpec.DeploymentSpecs = nil
	c.declare("after")
	c.CSV.Spec.WebhookDefinitions[0].DeploymentName = "after"
	c.Certificates["after"] = c.Certificates["before"]
	c.trust.Generation = 1
	c.goesOn()
	c.goesOn("after")
	c.goesOn("after")
	expect(t, c.live(), "hook.example.com shop.v1 after-service")
}
