package rollout

import (
	"fmt"
	"testing"
	"time"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/backends"
)

// The status of a Deployment before a change neither completes nor fails the installation of the
// change, and its webhooks stay registered.
func TestChangedDeployment(t *testing.T) {
	c := installed(t, webhookOf("manager"))
	for _, moment := range []struct {
		when       string
		happens    func()
		wantSteps  []string
		wantPhases []string
		wantState  managerv1alpha1.DeploymentState
	}{
		{
			when:      "the image changes",
			happens:   func() { c.spec("manager").Spec.Template.Spec.Containers[0].Image = "shop:2" },
			wantSteps: []string{`update Deployment shop/manager: metadata.labels.olm.deployment-spec-hash, spec.template.spec.containers[name="manager"].image`},
			wantPhases: []string{
				"Pending NeedsReinstall: calculated deployment install is bad",
				"InstallReady AllRequirementsMet: all requirements found, attempting install",
				"Installing InstallSucceeded: waiting for install components to report healthy",
				`Installing InstallWaiting: installing: waiting for deployment manager to become ready: deployment "manager" not available: it is being updated`,
			},
			wantState: managerv1alpha1.DeploymentProgressing,
		},
		{
			when:       "the change is not observed yet",
			happens:    func() {},
			wantPhases: []string{`Installing InstallWaiting: installing: waiting for deployment manager to become ready: deployment "manager" not available: the Deployment controller has not seen it yet`},
			wantState:  managerv1alpha1.DeploymentProgressing,
		},
		{
			when:       "it is rolled out",
			happens:    func() { c.becomeAvailable("manager") },
			wantPhases: []string{"Succeeded InstallSucceeded: install strategy completed with no errors"},
			wantState:  managerv1alpha1.DeploymentAvailable,
		},
	} {
		moment.happens()
		plan := c.reconcile()
		installtest.Same(t, fmt.Sprintf("when %s, steps", moment.when), moment.wantSteps, stepsOf(plan))
		installtest.Same(t, fmt.Sprintf("when %s, phases", moment.when), moment.wantPhases, phasesOf(plan))
		installtest.Same(t, fmt.Sprintf("when %s, the Deployment", moment.when), moment.wantState, plan.Status.Deployments[0].State)
		installtest.Same(t, fmt.Sprintf("when %s, webhooks", moment.when), []string{"v.manager.example.com Registered Serving: "}, webhooksOf(plan))
		c.wait(time.Second)
	}
}

// After a webhook is added to an installed operator, the operator succeeds when the webhook serves.
func TestWebhookAddedToASucceededOperator(t *testing.T) {
	c := installed(t, webhookOf("manager"))
	c.CSV.Spec.WebhookDefinitions = append(c.CSV.Spec.WebhookDefinitions, webhookOf("manager", mutatingNamed("m.example.com")))
	c.answer = func(backends.Endpoint) backends.Answer {
		return backends.Answer{Reason: "ForeignCertificate", Message: "foreign"}
	}
	phases := phasesOf(c.reconcile())
	if want := "Installing InstallWaiting: installing: waiting for webhook m.example.com to be registered: foreign"; len(phases) == 0 || phases[len(phases)-1] != want {
		t.Errorf("phases %q, want the last to be %q", phases, want)
	}
}
