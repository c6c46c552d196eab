package rollout

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/subscriptions"
)

// disable sets the annotation with the webhooks to disable in the Subscription's config.
func (c *cluster) disable(names string) {
	c.Config = subscriptions.Config{Subscription: "shop", SubscriptionConfig: operatorsv1alpha1.SubscriptionConfig{
		Annotations: map[string]string{wellknown.AnnotationDisabledWebhooks: names},
	}}
}

const disabledMessage = " Disabled SwitchedOff: annotation olm-webhook-manager.io/disabled-webhooks in the config of Subscription shop names it"

// A disabled webhook is unregistered and registered again after it is enabled. Nothing else
// changes.
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
