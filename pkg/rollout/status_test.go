package rollout

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// The status has the earliest expiry of all certificates.
func TestStatus(t *testing.T) {
	c := installed(t, webhookOf("first"), webhookOf("second"))
	c.becomeUnavailable("second")
	expires, later := metav1.NewTime(noon.Add(24*time.Hour)), metav1.NewTime(noon.Add(25*time.Hour))
	c.Certificates["first"] = managerv1alpha1.CertificateStatus{Phase: managerv1alpha1.CertificateStable, CAFingerprint: "first", NotAfter: &later}
	c.Certificates["second"] = managerv1alpha1.CertificateStatus{Phase: managerv1alpha1.CertificateStable, CAFingerprint: "second", NotAfter: &expires}
	c.CSV.Generation = 7
	plan := c.reconcile()

	webhook := func(deployment string, state managerv1alpha1.WebhookState, reason, message string, since time.Time) []managerv1alpha1.WebhookStatus {
		at := metav1.NewTime(since)
		return []managerv1alpha1.WebhookStatus{{
			Type: "ValidatingAdmissionWebhook", GenerateName: "v." + deployment + ".example.com", Configuration: c.validating(deployment).Name,
			Calls: deployment + "-service:443", Intercepts: "CREATE of orders.shop.example.com everywhere", State: state, Reason: reason, Message: message, LastTransitionTime: &at,
		}}
	}
	firstSince := plan.Status.Deployments[0].Webhooks[0].LastTransitionTime.Time
	if !firstSince.Before(c.now) {
		t.Errorf("the first is registered since %s, which is now", firstSince)
	}
	unavailable := `deployment "second" not available: Deployment does not have minimum availability.`
	first, second := c.Certificates["first"], c.Certificates["second"]
	want := managerv1alpha1.WebhookRolloutStatus{
		ObservedGeneration: 7, Registrations: 2, ReadyRegistrations: 1, CertificateExpirationTime: &expires, Provider: "manager",
		Conditions: []metav1.Condition{{
			Type: "Ready", Status: "False", Reason: "NoReadyEndpoints", ObservedGeneration: 7, LastTransitionTime: metav1.NewTime(c.now),
			Message: "webhook v.second.example.com is Unreachable: service second-service has no ready endpoint: " + unavailable,
		}},
		Deployments: []managerv1alpha1.DeploymentStatus{
			{Name: "first", State: "Available", Certificate: &first, Webhooks: webhook("first", "Registered", "Serving", "", firstSince)},
			{
				Name: "second", State: "Progressing", Reason: "WaitingForReplicas", Message: unavailable, Certificate: &second,
				Webhooks: webhook("second", "Unreachable", "NoReadyEndpoints", "service second-service has no ready endpoint: "+unavailable, c.now),
			},
		},
	}
	installtest.Same(t, "status", want, plan.Status)

	c.wait(time.Minute)
	installtest.Same(t, "a minute later the status is another", plan.Status, c.reconcile().Status)
}

func TestNoWebhooks(t *testing.T) {
	c := clusterWith(t)
	c.declare("manager")
	installtest.Same(t, "steps", []string{"create Deployment shop/manager"}, stepsOf(c.reconcile()))
	c.becomeAvailable("manager")
	plan := c.reconcile()
	installtest.Same(t, "registrations, and ready ones", []int32{0, 0}, []int32{plan.Status.Registrations, plan.Status.ReadyRegistrations})
	c.expectPhase("without webhooks", succeeded)
}

func TestWhy(t *testing.T) {
	c := installed(t, webhookOf("manager"), webhookOf("manager", mutatingNamed("m.example.com")))
	c.CSV.Spec.WebhookDefinitions = c.CSV.Spec.WebhookDefinitions[:1]
	delete(c.Observed.RoleBindings, "manager-service-cert")
	c.Observed.Services["manager-service"].Labels["olm.managed"] = "false"
	got := lists.Map(c.next().Steps, func(step Step) string { return step.Kind() + " " + step.Why() })
	want := []string{"Service differs in metadata.labels.olm.managed", "RoleBinding absent", "MutatingWebhookConfiguration not declared any more"}
	installtest.Same(t, "reasons", want, got)
}
