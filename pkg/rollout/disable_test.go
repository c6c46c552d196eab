package rollout

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/requirements"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/subscriptions"
)

// switchOff has the Subscription's config name webhooks to disable.
func (c *cluster) switchOff(names string) {
	c.Config = subscriptions.Config{Subscription: "shop", SubscriptionConfig: operatorsv1alpha1.SubscriptionConfig{
		Annotations: map[string]string{wellknown.AnnotationDisabledWebhooks: names},
	}}
}

const switchedOff = " Disabled SwitchedOff: annotation olm-webhook-manager.io/disabled-webhooks in the config of Subscription shop names it"

// A webhook goes out of service and comes back, and nothing else is touched.
func TestDisabledWebhook(t *testing.T) {
	c := installed(t, webhookOf("manager"), webhookOf("manager", mutatingNamed("m.example.com")))
	c.switchOff("m.other.example.com, v.manager.example.com")

	plan := c.pass()
	if diff := cmp.Diff([]string{"delete ValidatingWebhookConfiguration v.manager.example.com"}, stepsOf(plan)); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	if said := webhooksOf(plan)[0]; said != "v.manager.example.com"+switchedOff {
		t.Errorf("the webhook is %q", said)
	}
	if plan.Status.ReadyRegistrations != 1 || plan.Status.Registrations != 1 || !meta.IsStatusConditionTrue(plan.Status.Conditions, "Ready") {
		t.Errorf("%d of %d are ready, conditions %+v", plan.Status.ReadyRegistrations, plan.Status.Registrations, plan.Status.Conditions)
	}
	if len(plan.Phases) > 0 {
		t.Errorf("phases %q", phasesOf(plan))
	}
	refused := meta.FindStatusCondition(plan.Status.Conditions, "ConfigRefused")
	if refused == nil || refused.Status != metav1.ConditionTrue || !strings.Contains(refused.Message, `"m.other.example.com", which is no webhook of ClusterServiceVersion`) {
		t.Errorf("the name of no webhook is told as %+v", refused)
	}
	if again := c.pass(); len(again.Steps) > 0 {
		t.Errorf("the next pass does %q", stepsOf(again))
	}

	c.Config = subscriptions.Config{}
	for range 5 {
		plan = c.pass()
	}
	if plan.Status.ReadyRegistrations != 2 || plan.Status.Registrations != 2 || meta.FindStatusCondition(plan.Status.Conditions, "ConfigRefused") != nil {
		t.Errorf("once it is switched on, %d of %d are ready, conditions %+v", plan.Status.ReadyRegistrations, plan.Status.Registrations, plan.Status.Conditions)
	}
}

// What cannot be installed as it is can be switched off all the same.
func TestDisabledWhileHeld(t *testing.T) {
	c := installed(t, webhookOf("manager"))
	c.Verdict = requirements.Verdict{Requirements: []operatorsv1alpha1.RequirementStatus{{Kind: "ServiceAccount", Name: "shop", Status: operatorsv1alpha1.RequirementStatusReasonNotPresent}}}
	c.switchOff("v.manager.example.com")
	plan := c.pass()
	if diff := cmp.Diff([]string{"delete ValidatingWebhookConfiguration v.manager.example.com"}, stepsOf(plan)); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	if said := webhooksOf(plan)[0]; said != "v.manager.example.com"+switchedOff {
		t.Errorf("the webhook is %q", said)
	}
}
