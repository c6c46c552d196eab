package rollout

import (
	"testing"
	"time"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/webhookconfig"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
)

// lags lets an API server be behind, and returns what lets it observe everything.
func (c *cluster) lags() (catchesUp func()) {
	c.behind = []string{"10.0.0.2:6443"}
	return func() { c.behind = nil }
}

// staysAsItIs reconciles for a time in which an API server is behind.
func (c *cluster) staysAsItIs(d time.Duration) {
	c.t.Helper()
	const reason = "these API servers still call the webhooks: 10.0.0.2:6443"
	for end := c.now.Add(d); c.now.Before(end); c.wait(time.Second) {
		plan := c.reconcile()
		installtest.None(c.t, "steps while an API server is behind", plan.Steps)
		installtest.Same(c.t, "requeue", Requeue{At: c.now.Add(time.Second), Reason: reason}, plan.Requeue)
	}
}

// An upgrade changes a webhook. Its Deployment is rolled out when each API server has observed the end of the registration.
func TestUpgradeAwaitsEachAPIServer(t *testing.T) {
	c := installed(t, webhookOf("server", named("changed.example.com"))).upgradeTo(webhookOf("server", named("changed.example.com"), atPath("/v2")))
	catchesUp := c.lags()
	c.reconcileLater()
	c.reconcileLater()
	c.wait(2 * time.Second)
	c.staysAsItIs(20 * time.Second)
	installtest.Same(t, "rolled out while an API server is behind", false, c.isRolledOutBy("server", "shop.v2"))
	catchesUp()
	c.reconcile()
	installtest.Same(t, "rolled out", true, c.isRolledOutBy("server", "shop.v2"))
	installtest.Same(t, "asks again", false, c.next().AskAPIServers)
}

// The caches show markers of the manager for a moment. These are no registrations that end.
func TestMarkersDoNotProlongAnUpgrade(t *testing.T) {
	c := installed(t, webhookOf("server", named("changed.example.com"))).upgradeTo(webhookOf("server", named("changed.example.com"), atPath("/v2")))
	c.lags()
	c.reconcileLater()
	c.reconcileLater()
	before := c.Previous.Upgrade.LastUnregistrationTime
	for end := c.now.Add(time.Minute + 2*time.Second); c.now.Before(end); c.wait(time.Second) {
		marker := render.ValidatingMarker(c.CSV, "server", c.now.String())
		marker.UID = "uid-of-marker"
		c.Observed.Validating = append(c.Observed.Validating, marker)
		plan := c.reconcile()
		installtest.Same(t, "the end of the registration", before, plan.Status.Upgrade.LastUnregistrationTime)
		installtest.Same(t, "recorded markers", 0, installtest.Count(plan.Status.Created, func(o managerv1alpha1.CreatedObject) bool { return o.UID == marker.UID }))
	}
	c.reconcile()
	installtest.Same(t, "rolled out", true, c.isRolledOutBy("server", "shop.v2"))
}

// API servers are not waited for without end.
func TestUpgradeDoesNotAwaitAnAPIServerWithoutEnd(t *testing.T) {
	c := installed(t, webhookOf("server", named("changed.example.com"))).upgradeTo(webhookOf("server", named("changed.example.com"), atPath("/v2")))
	c.lags()
	c.reconcileLater()
	c.reconcileLater()
	c.wait(time.Minute + 2*time.Second)
	c.reconcile()
	installtest.Same(t, "rolled out", true, c.isRolledOutBy("server", "shop.v2"))
}

// An edit leaves a Deployment out.
func TestRemovedDeploymentAwaitsEachAPIServer(t *testing.T) {
	c := installed(t, webhookOf("goes", named("hook.example.com")))
	c.CSV.Spec.InstallStrategy.StrategySpec.DeploymentSpecs, c.CSV.Spec.WebhookDefinitions = nil, nil
	c.CSV.Generation++
	catchesUp := c.lags()
	c.reconcileLater()
	c.reconcileLater()
	c.wait(2 * time.Second)
	c.staysAsItIs(20 * time.Second)
	catchesUp()
	installtest.Same(t, "steps", []string{"delete Deployment shop/goes"}, stepsOf(c.reconcile()))
	installtest.Same(t, "asks again", false, c.next().AskAPIServers)
}

// An operator that must yield to another one is removed.
func TestConflictAwaitsEachAPIServer(t *testing.T) {
	c := installed(t, webhookOf("manager"))
	conflicts["another operator owns the API"].put(c)
	catchesUp := c.lags()
	c.reconcile()
	c.wait(time.Second)
	c.reconcile()
	c.wait(c.Policy.Settle)
	c.staysAsItIs(20 * time.Second)
	catchesUp()
	installtest.Same(t, "steps", []string{"delete Deployment shop/manager"}, stepsOf(c.reconcile()))
	installtest.Same(t, "asks again", false, c.next().AskAPIServers)
}

// An installation is complete when each API server has observed the registrations.
func TestInstallationAwaitsEachAPIServer(t *testing.T) {
	c := unregistered(t)
	catchesUp := c.lags()
	c.reconcile()
	c.reconcile()
	for range 3 {
		c.wait(2 * time.Second)
		installtest.Same(t, "asks again", webhookconfig.Kinds{Validating: true}, c.reconcile().AskBeginnings)
		plan := c.reconcile()
		installtest.Same(t, "requeue", Requeue{At: c.now.Add(time.Second), Reason: "API servers learn of a registration"}, plan.Requeue)
		c.expectPhase("while an API server is behind", installing)
		installtest.Contains(t, c.CSV.Status.Message, "to be known to these API servers: 10.0.0.2:6443")
	}
	catchesUp()
	c.wait(2 * time.Second)
	c.reconcile()
	c.reconcile()
	c.expectPhase("when it has caught up", succeeded)
	c.wait(time.Hour)
	installtest.Same(t, "asks again", webhookconfig.Kinds{}, c.next().AskBeginnings)
}

// An API server that stays behind does not keep the installation from being complete.
func TestInstallationDoesNotAwaitAnAPIServerWithoutEnd(t *testing.T) {
	c := unregistered(t)
	c.lags()
	c.reconcile()
	c.reconcile()
	c.wait(time.Minute - 2*time.Second)
	c.reconcile()
	c.expectPhase("while an API server is behind", installing)
	c.wait(2 * time.Second)
	c.reconcile()
	c.expectPhase("after a minute", succeeded)
}
