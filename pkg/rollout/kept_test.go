package rollout

import (
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/csvstatus"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

const keptMessage = "from being deleted: example.com/kept. Remove them, since API servers continue to call its webhooks"

// keep adds a finalizer of another client to a registration, and returns the message after its deletion.
func (c *cluster) keep(generateName string) (live *admissionregistrationv1.ValidatingWebhookConfiguration, message string) {
	c.t.Helper()
	live = c.validatingNamed(generateName)
	live.Finalizers = []string{"example.com/kept"}
	return live, "finalizers keep " + drift.KeyOf(live) + " " + keptMessage
}

// trustsTheNext checks that a registration that stays trusts the next certificate: API servers call it until it is deleted.
func (c *cluster) trustsTheNext(generateName string) {
	c.t.Helper()
	c.trust = render.Trust{CABundle: []byte("ca and the next"), CAHash: "hash-of-ca", Generation: 2}
	c.reconcileContest()
	installtest.Same(c.t, "trust of "+generateName, "ca and the next", string(c.validatingNamed(generateName).Webhooks[0].ClientConfig.CABundle))
}

// restart drops the records of a process.
func (c *cluster) restart() {
	c.Observed.Writes, c.Observed.Contests = map[string]drift.Write{}, map[string]drift.Contest{}
}

func (c *cluster) isRolledOutBy(deployment, version string) bool {
	return c.Observed.Deployments[deployment].Labels["olm.owner"] == version
}

// An upgrade deletes a registration once. While finalizers keep it, API servers call the webhook: the Deployment that
// serves it is not rolled out. Nothing is written, and the status names the registration and the finalizers.
func TestUpgradeWaitsForKeptRegistration(t *testing.T) {
	for name, gate := range map[string]Gate{"changed.example.com": GateServing, "removed.example.com": GateServing, "changed.example.com without a gate": GateAvailable} {
		t.Run(name, func(t *testing.T) {
			generateName, _, _ := strings.Cut(name, " ")
			c := installed(t, webhookOf("server", named("changed.example.com")), webhookOf("server", named("removed.example.com"))).
				upgradeTo(webhookOf("server", named("changed.example.com"), atPath("/v2")))
			c.Policy.Gate = gate
			_, message := c.keep(generateName)
			c.reconcileLater()
			first := c.reconcileLater()
			for range 5 {
				c.restart()
				c.wait(time.Minute)
				plan := c.reconcileContest()
				installtest.None(t, "steps", plan.Steps)
				installtest.Same(t, "status", first.Status, plan.Status)
				installtest.Same(t, "requeue", true, plan.Requeue.Never())
			}
			installtest.Same(t, "rolled out", false, c.isRolledOutBy("server", "shop.v2"))
			installtest.Same(t, "condition", "UnregistrationRefused: "+message, conditionOf(first, "UnregistrationRefused"))
			installtest.Same(t, "contested", "", conditionOf(first, "Contested"))
			installtest.Same(t, "reason", "StillRegistered", first.Status.Deployments[0].Reason)
			installtest.Says(t, "the ClusterServiceVersion", "waiting for deployment server to become ready: "+message, csvstatus.Explained(c.CSV.Status))
			if generateName == "changed.example.com" {
				installtest.Same(t, "the webhook", "changed.example.com Registered StillRegistered: "+message, webhooksOf(first)[0])
			}
			c.trustsTheNext(generateName)

			c.remove(c.validatingNamed(generateName))
			plan := c.reconcile()
			installtest.Same(t, "rolled out at once", gate == GateAvailable, c.isRolledOutBy("server", "shop.v2"))
			installtest.Same(t, "condition afterwards", "", conditionOf(plan, "UnregistrationRefused"))
			c.reconcileLater()
			installtest.Same(t, "rolled out after the settle time", true, c.isRolledOutBy("server", "shop.v2"))
			for range 4 { // The last but one asks API servers.
				c.reconcileLater("server")
			}
			c.expectPhase("afterwards", succeeded)
		})
	}
}

// A Deployment that waits for an earlier one also waits for its own webhooks.
func TestPostponedDeploymentWaitsForKeptRegistration(t *testing.T) {
	c := installed(t, webhookOf("first"), webhookOf("server", named("changed.example.com"))).
		upgradeTo(webhookOf("first"), webhookOf("server", named("changed.example.com"), atPath("/v2")))
	kept, _ := c.keep("changed.example.com")
	c.carryOutDeletion(drift.KeyOf(kept), kept)
	c.spec("first").Spec.Template.Spec.Containers[0].Image = "changed"
	c.reconcileLater()
	c.becomeUnavailable("first")
	plan := c.reconcileLater()
	installtest.Same(t, "reason", "StillRegistered", plan.Status.Deployments[1].Reason)
	c.remove(kept)
	c.becomeAvailable("first")
	c.reconcile()
	installtest.Same(t, "rolled out at once", false, c.isRolledOutBy("server", "shop.v2"))
	c.reconcileLater()
	installtest.Same(t, "rolled out after the settle time", true, c.isRolledOutBy("server", "shop.v2"))
}

// An upgrade also waits for a registration that the API server refuses to delete, or that another client recreates.
func TestUpgradeWaitsForRegistrationThatStays(t *testing.T) {
	hook := named("changed.example.com")
	for name, test := range map[string]struct {
		stay    func(*cluster, *admissionregistrationv1.ValidatingWebhookConfiguration)
		message string
	}{
		"refused": {func(c *cluster, live *admissionregistrationv1.ValidatingWebhookConfiguration) {
			c.Observed.Refused[drift.KeyOf(live)] = "the API server refuses it"
		}, "the API server refuses it"},
		"recreated": {func(c *cluster, live *admissionregistrationv1.ValidatingWebhookConfiguration) {
			recreated := live.DeepCopy()
			recreated.UID = types.UID("created at " + c.now.String())
			c.store(recreated)
		}, "another client creates it again each time the manager deletes it"},
	} {
		t.Run(name, func(t *testing.T) {
			c := installed(t, webhookOf("server", hook)).upgradeTo(webhookOf("server", hook, atPath("/v2")))
			c.restart()
			live := c.validatingNamed("changed.example.com").DeepCopy()
			var plan Plan
			for range 10 {
				test.stay(c, live)
				c.Upgrade.Started = true
				plan = c.reconcileContest()
				c.wait(2 * time.Second)
			}
			installtest.Same(t, "rolled out", false, c.isRolledOutBy("server", "shop.v2"))
			installtest.Same(t, "reason", "StillRegistered", plan.Status.Deployments[0].Reason)
			installtest.Says(t, "message", test.message, plan.Status.Deployments[0].Message)
			installtest.Says(t, "the webhook", "changed.example.com Registered StillRegistered: ", webhooksOf(plan)[0])
			installtest.Same(t, "phase", operatorsv1alpha1.CSVPhaseInstalling, c.CSV.Status.Phase)
			if name == "refused" {
				c.Observed.DeletionRefused = map[string]bool{drift.KeyOf(live): true}
				c.trustsTheNext("changed.example.com")
			}
		})
	}
}

// Without its previous Deployment, nothing serves the registration that stays: the next one is not waited with.
func TestLostDeploymentIsRolledOutAtOnce(t *testing.T) {
	hook := named("changed.example.com")
	c := installed(t, webhookOf("server", hook)).upgradeTo(webhookOf("server", hook, atPath("/v2")))
	c.keep("changed.example.com")
	c.Upgrade.Started = true
	for range 3 {
		c.reconcileContest()
		c.wait(2 * time.Second)
	}
	installtest.Same(t, "rolled out", false, c.isRolledOutBy("server", "shop.v2"))
	delete(c.Observed.Deployments, "server")
	c.reconcileContest()
	installtest.Same(t, "rolled out after the previous Deployment was deleted", true, c.isRolledOutBy("server", "shop.v2"))
}

// After an owner conflict the Deployments stay while API servers call them, and for the settle time after that.
func TestConflictWithKeptRegistration(t *testing.T) {
	c := installed(t, webhookOf("manager"))
	_, message := c.keep("v.manager.example.com")
	conflicts["another operator owns the API"].put(c)
	c.reconcileContest()
	for range 5 {
		c.restart()
		c.wait(time.Minute)
		plan := c.reconcileContest()
		installtest.None(t, "steps", plan.Steps)
		installtest.Same(t, "condition", "UnregistrationRefused: "+message, conditionOf(plan, "UnregistrationRefused"))
		installtest.Same(t, "the webhook", "v.manager.example.com Registered StillRegistered: "+message, webhooksOf(plan)[0])
	}
	installtest.Says(t, "the ClusterServiceVersion", "another has it; "+message, csvstatus.Explained(c.CSV.Status))
	c.trustsTheNext("v.manager.example.com")
	c.remove(c.validatingNamed("v.manager.example.com"))
	installtest.None(t, "steps at once", c.reconcile().Steps)
	c.wait(time.Second + c.Policy.Settle)
	installtest.Same(t, "after the settle time", []string{"delete Deployment shop/manager"}, stepsOf(c.reconcile()))
}

// A registration that is not declared any more, or switched off, is deleted once.
func TestKeptRegistrationIsDeletedOnce(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*cluster)
		want   string // the state of the webhook
	}{
		"undeclared": {func(c *cluster) { c.CSV.Spec.WebhookDefinitions = c.CSV.Spec.WebhookDefinitions[1:] }, ""},
		"disabled":   {func(c *cluster) { c.disable("v.manager.example.com") }, "Registered StillRegistered"},
	} {
		t.Run(name, func(t *testing.T) {
			c := installed(t, webhookOf("manager"), webhookOf("manager", mutatingNamed("m.example.com")))
			_, message := c.keep("v.manager.example.com")
			test.change(c)
			installtest.Same(t, "steps", []string{"delete ValidatingWebhookConfiguration v.manager.example.com"}, stepsOf(c.reconcileContest()))
			for range 5 {
				c.restart()
				c.wait(time.Second)
				plan := c.reconcileContest()
				installtest.None(t, "steps", plan.Steps)
				installtest.Same(t, "contested", "", conditionOf(plan, "Contested"))
				installtest.Same(t, "condition", "UnregistrationRefused: "+message, conditionOf(plan, "UnregistrationRefused"))
				if test.want != "" && !strings.HasPrefix(webhooksOf(plan)[0], "v.manager.example.com "+test.want+": "+message) {
					t.Errorf("the webhook: %s", webhooksOf(plan)[0])
				}
			}
			c.expectPhase("meanwhile", succeeded)
			c.trustsTheNext("v.manager.example.com")
		})
	}
}

// A Deployment whose last webhook is undeclared has the certificate until no registration calls it.
func TestLastWebhookOfADeployment(t *testing.T) {
	c := installed(t, webhookOf("manager"))
	_, message := c.keep("v.manager.example.com")
	c.CSV.Spec.WebhookDefinitions = nil
	c.spec("manager").Spec.Template.Spec.Containers[0].Image = "shop:2"
	installtest.Same(t, "steps", []string{
		`update Deployment shop/manager: metadata.labels.olm.deployment-spec-hash, spec.template.spec.containers[name="manager"].image`,
		"delete ValidatingWebhookConfiguration v.manager.example.com",
	}, stepsOf(c.reconcileContest()))
	c.becomeAvailable("manager")
	plan := c.reconcileContest()
	installtest.None(t, "steps while it stays", plan.Steps)
	installtest.Same(t, "volumes while it stays", 2, c.volumesOf("manager"))
	installtest.Same(t, "condition", "UnregistrationRefused: "+message, conditionOf(plan, "UnregistrationRefused"))
	c.Secrets["manager"] = secretOf("manager")
	c.trustsTheNext("v.manager.example.com")
	installtest.Same(t, "the Secret while it stays", []string{"create Secret shop/manager-service-cert"}, stepsOf(c.reconcileContest()))
	c.Secrets = map[string]*Step{}
	c.remove(c.validatingNamed("v.manager.example.com"))
	installtest.Same(t, "steps afterwards", []string{"update Deployment shop/manager: metadata.labels.olm.deployment-spec-hash"}, stepsOf(c.reconcileContest()))
	installtest.None(t, "further steps", c.reconcileContest().Steps)
	installtest.Same(t, "volumes afterwards", 0, c.volumesOf("manager"))
}

// The same holds for a Deployment whose last webhook moves: API servers call it until the other Deployment serves.
func TestLastWebhookOfADeploymentMoves(t *testing.T) {
	c := installed(t, webhookOf("first"), webhookOf("second"))
	c.CSV.Spec.WebhookDefinitions[0].DeploymentName = "second"
	c.becomeUnavailable("second")
	c.reconcile()
	installtest.Same(t, "volumes of the first Deployment", 2, c.volumesOf("first"))
	for range 3 {
		c.reconcileLater("first", "second")
	}
	installtest.Same(t, "volumes of the first Deployment afterwards", 0, c.volumesOf("first"))
}

func (c *cluster) volumesOf(deployment string) int {
	return len(c.Observed.Deployments[deployment].Spec.Template.Spec.Volumes)
}

// No object is deleted twice, and no client recreates one that is being deleted.
func TestDeletedObjectIsNotDeleted(t *testing.T) {
	for _, o := range []drift.Object{&admissionregistrationv1.MutatingWebhookConfiguration{}, installed(t, webhookOf("manager")).Observed.Deployments["manager"].DeepCopy()} {
		o.SetDeletionTimestamp(new(metav1.NewTime(noon)))
		_, ok := Observed{}.unlessContested(Step{Verb: Delete, Object: o, Live: o}, noon)
		installtest.Same(t, drift.KeyOf(o)+" is deleted", false, ok)
		installtest.Same(t, drift.KeyOf(o)+" is recreated", false, Observed{}.RecreatedByOther(o, noon))
	}
}
