package rollout

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/subscriptions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/backends"
)

// A delegated webhook is registered in two steps: first without rules, so that a caBundle can be
// injected, then with rules when its endpoints serve a certificate of that CA. The manager never
// changes the injected caBundle.
func TestDelegatedWebhook(t *testing.T) {
	const webhook = "v.manager.example.com"
	c := unregistered(t)
	c.trust.Delegated, c.trust.CABundle = true, nil
	c.Certificates["manager"] = certificateWith("holds no certificate")
	rules := func() int { return len(c.validating("manager").Webhooks[0].Rules) }
	bundle := func() string { return string(c.validating("manager").Webhooks[0].ClientConfig.CABundle) }
	expectWebhook := func(want string) {
		t.Helper()
		installtest.Same(t, "webhooks", []string{want}, webhooksOf(c.reconcile()))
	}

	expectWebhook(webhook + " Waiting CABundleNotInjected: the registration is being written without rules, for its caBundle to be injected")
	installtest.Same(t, "the number of rules", 0, rules())
	installtest.Same(t, "the caBundle", "", bundle())
	expectWebhook(webhook + " Waiting CABundleNotInjected: no client has injected a caBundle into ValidatingWebhookConfiguration " + c.validating("manager").Name +
		" yet: check the annotations in the Subscription's spec.config, and the tool that acts on them")

	c.validating("manager").Webhooks[0].ClientConfig.CABundle = []byte("injected")
	c.answer = func(e backends.Endpoint) backends.Answer {
		installtest.Same(t, "trust for "+e.What, "injected", e.Trust)
		return backends.Answer{Reason: "ForeignCertificate", Message: "serves another"}
	}
	expectWebhook(webhook + " Waiting ForeignCertificate: serves another")
	installtest.Same(t, "the number of rules", 0, rules())
	installtest.Same(t, "the caBundle", "injected", bundle())

	c.answer = func(backends.Endpoint) backends.Answer { return backends.Answer{} }
	expectWebhook(webhook + " Waiting Registering: its endpoints serve what was injected: the registration gets its rules")
	expectWebhook(webhook + " Registered Serving: ")
	installtest.Same(t, "the number of rules", 1, rules())
	installtest.Same(t, "the caBundle", "injected", bundle())
	c.validating("manager").Webhooks[0].ClientConfig.CABundle = []byte("renewed")
	c.validating("manager").Webhooks[0].Rules = nil
	c.becomeUnavailable("manager")
	c.reconcile()
	installtest.Same(t, "the caBundle", "renewed", bundle())
}

// A registered webhook stays registered when its caBundle is delegated, and when it is managed again.
func TestDelegationOfRegisteredWebhook(t *testing.T) {
	c := installed(t, webhookOf("manager"))
	for _, delegated := range []bool{true, false} {
		c.trust.Delegated = delegated
		for range 3 {
			installtest.Same(t, fmt.Sprintf("delegated %t: deletions", delegated), 0, installtest.Count(c.reconcile().Steps, deletes))
			w := c.validating("manager").Webhooks[0]
			if len(w.Rules) == 0 || string(w.ClientConfig.CABundle) != "ca" {
				t.Fatalf("delegated %t: it has %d rules and caBundle %q", delegated, len(w.Rules), w.ClientConfig.CABundle)
			}
		}
	}
}

// disable sets the annotation with the webhooks to disable in the Subscription's config.
func (c *cluster) disable(names string) {
	c.Config = subscriptions.Config{Subscription: "shop", SubscriptionConfig: operatorsv1alpha1.SubscriptionConfig{
		Annotations: map[string]string{wellknown.AnnotationDisabledWebhooks: names},
	}}
}

const disabledMessage = " Disabled SwitchedOff: annotation olm-webhook-manager.io/disabled-webhooks in the config of Subscription shop names it"

// A disabled webhook is unregistered and registered again after it is enabled. Nothing else changes.
func TestDisabledWebhook(t *testing.T) {
	c := installed(t, webhookOf("manager"), webhookOf("manager", mutatingNamed("m.example.com")))
	c.disable("m.other.example.com, v.manager.example.com")

	plan := c.reconcile()
	installtest.Same(t, "steps", []string{"delete ValidatingWebhookConfiguration v.manager.example.com"}, stepsOf(plan))
	installtest.Same(t, "the webhook", "v.manager.example.com"+disabledMessage, webhooksOf(plan)[0])
	if plan.Status.ReadyRegistrations != 1 || plan.Status.Registrations != 1 || !meta.IsStatusConditionTrue(plan.Status.Conditions, "Ready") {
		t.Errorf("%d of %d are ready, conditions %+v", plan.Status.ReadyRegistrations, plan.Status.Registrations, plan.Status.Conditions)
	}
	installtest.Same(t, "phases", []string(nil), phasesOf(plan))
	refused := meta.FindStatusCondition(plan.Status.Conditions, "ConfigRefused")
	if refused == nil || refused.Status != metav1.ConditionTrue || !strings.Contains(refused.Message, `"m.other.example.com", which is no webhook of ClusterServiceVersion`) {
		t.Errorf("an unknown name is reported as %+v", refused)
	}
	installtest.Same(t, "the next reconciliation writes", []string(nil), stepsOf(c.reconcile()))

	c.Config = subscriptions.Config{}
	for range 5 {
		plan = c.reconcile()
	}
	if plan.Status.ReadyRegistrations != 2 || plan.Status.Registrations != 2 || meta.FindStatusCondition(plan.Status.Conditions, "ConfigRefused") != nil {
		t.Errorf("after it is enabled, %d of %d are ready, conditions %+v", plan.Status.ReadyRegistrations, plan.Status.Registrations, plan.Status.Conditions)
	}
}

func TestDisabledWithUnmetRequirement(t *testing.T) {
	c := installed(t, webhookOf("manager"))
	obstacles["a requirement"].put(c)
	c.disable("v.manager.example.com")
	plan := c.reconcile()
	installtest.Same(t, "steps", []string{"delete ValidatingWebhookConfiguration v.manager.example.com"}, stepsOf(plan))
	installtest.Same(t, "the webhook", "v.manager.example.com"+disabledMessage, webhooksOf(plan)[0])
}

// No watch reports that a missing PriorityClass was created.
func TestPriorityClassIsReadAgain(t *testing.T) {
	c := installed(t, installtest.ServedBy("manager"))
	installtest.Same(t, "no requeue", true, c.next().Requeue.Never())
	c.Config.UnusablePriorityClass = "PriorityClass high does not exist"
	installtest.Same(t, "the requeue", c.now.Add(time.Minute), c.next().Requeue.At)
	installtest.Same(t, "the number of writes", 0, len(c.next().Steps))
}
