package rollout

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/backends"
)

// Steps of an installation: the webhooks of each of two Deployments are registered before the next one starts.
func TestInstallationStepByStep(t *testing.T) {
	c := clusterWith(t, webhookOf("first"), webhookOf("first", mutatingNamed("m.first.example.com")), webhookOf("second"))
	c.Secrets["first"] = secretOf("first")
	c.Secrets["second"] = secretOf("second")

	for _, moment := range []struct {
		when       string
		happens    func()
		wantSteps  []string
		wantPhases []string
	}{
		{
			when:    "the ClusterServiceVersion is new",
			happens: func() {},
			wantSteps: []string{
				"create Service shop/first-service", "create Role shop/first-service-cert", "create RoleBinding shop/first-service-cert",
				"create Secret shop/first-service-cert", "create Deployment shop/first",
			},
			wantPhases: []string{
				"Pending RequirementsUnknown: requirements not yet checked",
				"InstallReady AllRequirementsMet: all requirements found, attempting install",
				"Installing InstallSucceeded: waiting for install components to report healthy",
				"Installing InstallWaiting: installing: waiting for deployment first to become ready: the Deployment is being created",
			},
		},
		{
			when: "its pods are not ready",
			happens: func() {
				delete(c.Secrets, "first")
				c.becomeUnavailable("first")
			},
			wantPhases: []string{`Installing InstallWaiting: installing: waiting for deployment first to become ready: deployment "first" not available: Deployment does not have minimum availability.`},
		},
		{
			when:    "its pods are ready",
			happens: func() { c.becomeAvailable("first") },
			wantSteps: []string{
				"create ValidatingWebhookConfiguration v.first.example.com", "create MutatingWebhookConfiguration m.first.example.com",
			},
			wantPhases: []string{"Installing InstallWaiting: installing: waiting for webhook v.first.example.com to be registered: the registration is being written"},
		},
		{
			when:    "its webhooks are registered",
			happens: func() {},
			wantSteps: []string{
				"create Service shop/second-service", "create Role shop/second-service-cert", "create RoleBinding shop/second-service-cert",
				"create Secret shop/second-service-cert", "create Deployment shop/second",
			},
			wantPhases: []string{"Installing InstallWaiting: installing: waiting for webhook v.first.example.com to be known to every API server"},
		},
		{
			when: "the second is available",
			happens: func() {
				c.Secrets = nil
				c.becomeAvailable("second")
			},
			wantSteps:  []string{"create ValidatingWebhookConfiguration v.second.example.com"},
			wantPhases: []string{"Installing InstallWaiting: installing: waiting for webhook v.second.example.com to be registered: the registration is being written"},
		},
		{
			when:       "all is registered",
			happens:    func() {},
			wantPhases: []string{"Installing InstallWaiting: installing: waiting for webhook v.second.example.com to be known to every API server"},
		},
		{
			when:       "every API server knows it",
			happens:    func() { c.wait(c.Policy.Settle) },
			wantPhases: []string{"Succeeded InstallSucceeded: install strategy completed with no errors"},
		},
		{when: "nothing happens", happens: func() {}},
		{when: "nothing happens for a day", happens: func() { c.wait(24 * time.Hour) }},
	} {
		moment.happens()
		plan := c.reconcile()
		installtest.Same(t, fmt.Sprintf("when %s, steps", moment.when), moment.wantSteps, stepsOf(plan))
		installtest.Same(t, fmt.Sprintf("when %s, phases", moment.when), moment.wantPhases, phasesOf(plan))
		c.wait(time.Second)
	}
}

// secretOf is the first certificate of a Deployment.
func secretOf(deployment string) *Step {
	return WriteSecret(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: deployment + "-service-cert"}}, nil)
}

// nextSecretOf is a later certificate of a Deployment.
func nextSecretOf(deployment string) *Step {
	live := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: deployment + "-service-cert", ResourceVersion: "7"}}
	next := live.DeepCopy()
	next.Data = map[string][]byte{corev1.TLSCertKey: []byte("next")}
	return WriteSecret(next, live)
}

// A Deployment's status before a change neither completes nor fails its installation. Its webhooks stay registered.
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
			wantPhases: []string{`Installing InstallWaiting: installing: waiting for deployment manager to become ready: deployment "manager" not available: the Deployment controller has not observed it yet`},
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

// A write of metadata alone replaces no pods: the version stays Succeeded.
func TestChangedMetadataOfADeployment(t *testing.T) {
	c := installed(t, webhookOf("manager"))
	c.Observed.Deployments["manager"].Labels[wellknown.LabelDeploymentHash] = "other"
	plan := c.reconcile()
	installtest.Same(t, "steps", []string{"update Deployment shop/manager: metadata.labels.olm.deployment-spec-hash"}, stepsOf(plan))
	installtest.None(t, "phases", phasesOf(plan))
	installtest.Same(t, "the Deployment", managerv1alpha1.DeploymentAvailable, plan.Status.Deployments[0].State)
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
