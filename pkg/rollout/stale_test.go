package rollout

import (
	"strings"
	"testing"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/backends"
)

// An edit renames the Deployment. Its webhook calls the previous one until the new one serves. The
// previous one is deleted when every API server has observed the change.
func TestDeploymentIsRenamed(t *testing.T) {
	for name, delegated := range map[string]bool{"the manager's certificates": false, "the administrator's": true} {
		t.Run(name, func(t *testing.T) {
			c := installed(t, webhookOf("before", named("hook.example.com")))
			c.trust.Delegated = delegated
			c.reconcileLater()
			c.renameDeployment()
			c.answer = func(e backends.Endpoint) backends.Answer {
				if strings.Contains(e.What, "after") {
					return backends.Answer{Reason: "Refused", Message: e.What + " refuses"}
				}
				return backends.Answer{}
			}

			c.reconcileLater()
			plan := c.reconcileLater("after")
			expect(t, c.registered(), "hook.example.com shop.v1 before-service")
			const until = "service before-service serves it until deployment after does: "
			if w := plan.Status.Deployments[0].Webhooks[0]; w.State != "Registered" || !strings.HasPrefix(w.Message, until) {
				t.Errorf("the webhook is %s: %s", w.State, w.Message)
			}
			if c.Observed.Deployments["before"] == nil {
				t.Fatal("the Deployment that serves was deleted")
			}

			c.answer = func(backends.Endpoint) backends.Answer { return backends.Answer{} }
			c.reconcileLater()
			expect(t, c.registered(), "hook.example.com shop.v1 after-service")
			c.reconcileLater()
			if plan := c.reconcile(); c.Observed.Deployments["before"] == nil || plan.Requeue.At.IsZero() {
				t.Error("the previous Deployment was deleted before the settle time, or nothing is requeued")
			}
			c.wait(time.Minute)
			steps := stepsOf(c.reconcileLater())
			installtest.Same(t, "steps", []string{"delete Deployment shop/before"}, steps)
			installtest.Same(t, "then", []string(nil), stepsOf(c.reconcileLater()))
			c.expectPhase("in the end", succeeded)
		})
	}
}

// Without webhooks the previous Deployment is deleted when the new one is available. Deployments of
// other ClusterServiceVersions are not deleted.
func TestRemovedDeployment(t *testing.T) {
	c := clusterWith(t)
	c.declare("stays")
	c.declare("goes")
	c.reconcile()
	c.reconcileLater("stays")
	c.reconcileLater("goes")
	other := c.Observed.Deployments["goes"].DeepCopy()
	other.Name, other.Labels = "other", map[string]string{"olm.owner": "other.v1", "olm.owner.namespace": "shop", "olm.owner.kind": "ClusterServiceVersion"}
	c.Observed.Deployments["other"] = other
	c.CSV.Spec.InstallStrategy.StrategySpec.DeploymentSpecs = c.CSV.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[:1]

	c.becomeUnavailable("stays")
	installtest.Same(t, "before the remaining Deployment is available", []string(nil), stepsOf(c.reconcileLater()))
	installtest.Same(t, "steps", []string{"delete Deployment shop/goes"}, stepsOf(c.reconcileLater("stays")))
}

// An edit removes a webhook and its Deployment. API servers that have not observed it still call
// the webhook, so the Deployment is deleted later. The time is recorded on the Deployment, for this
// edit only, because the registration is deleted.
func TestRemovedDeploymentWithWebhook(t *testing.T) {
	c := installed(t, webhookOf("goes", named("hook.example.com")))
	leave := func() {
		c.CSV.Spec.InstallStrategy.StrategySpec.DeploymentSpecs = nil
		c.CSV.Spec.WebhookDefinitions = nil
		c.CSV.Generation++
	}
	before := c.CSV.Spec.DeepCopy()
	leave()
	installtest.Same(t, "steps", []string{"delete ValidatingWebhookConfiguration hook.example.com"}, stepsOf(c.reconcileLater()))
	installtest.Same(t, "then", []string{"update Deployment shop/goes: metadata.annotations.olm-webhook-manager.io/unused"}, stepsOf(c.reconcileLater()))
	if plan := c.reconcile(); len(plan.Steps) > 0 || plan.Requeue.At.IsZero() || plan.Requeue.At.After(c.now.Add(2*time.Second)) {
		t.Errorf("at once %q, and the requeue is at %s", stepsOf(plan), plan.Requeue.At)
	}

	c.CSV.Spec, c.CSV.Generation = *before, c.CSV.Generation+1
	c.reconcileLater()
	c.wait(time.Minute)
	c.reconcileLater("goes")
	c.reconcileLater()
	expect(t, c.registered(), "hook.example.com shop.v1 goes-service")
	leave()
	c.reconcileLater()
	installtest.Same(t, "after another edit", []string{"update Deployment shop/goes: metadata.annotations.olm-webhook-manager.io/unused"}, stepsOf(c.reconcileLater()))
	c.wait(2 * time.Second)
	installtest.Same(t, "after the settle time", []string{"delete Deployment shop/goes"}, stepsOf(c.reconcileLater()))
}

// A client may register a webhook of a removed Deployment again. The settle time starts with its last deletion.
func TestRemovedDeploymentIsCalledAgain(t *testing.T) {
	c := installed(t, webhookOf("goes", named("hook.example.com")))
	registered := c.validatingNamed("hook.example.com").DeepCopy()
	c.CSV.Spec.InstallStrategy.StrategySpec.DeploymentSpecs, c.CSV.Spec.WebhookDefinitions = nil, nil
	c.CSV.Generation++
	c.reconcileLater()
	c.reconcile() // records that it is not called
	registered.UID = "another"
	c.store(registered)
	c.wait(time.Second)
	installtest.Same(t, "steps", []string{
		"delete ValidatingWebhookConfiguration hook.example.com", "update Deployment shop/goes: metadata.annotations.olm-webhook-manager.io/unused",
	}, stepsOf(c.reconcile()))
	c.reconcile() // records it again
	installtest.None(t, "steps within the settle time", c.reconcile().Steps)
	c.wait(c.Policy.Settle)
	installtest.Same(t, "after the settle time", []string{"delete Deployment shop/goes"}, stepsOf(c.reconcile()))
}

// Each Deployment has its own certificate generations: a registration with a high generation can
// change to a Deployment with its first certificate.
func TestDeploymentIsRenamedAfterRotations(t *testing.T) {
	c := installed(t, webhookOf("before", named("hook.example.com")))
	c.trust.Generation = 7
	c.reconcileLater()
	c.renameDeployment()
	c.trust.Generation = 1
	c.reconcileLater()
	c.reconcileLater("after")
	c.reconcileLater("after")
	expect(t, c.registered(), "hook.example.com shop.v1 after-service")
}
