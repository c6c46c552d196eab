package rollout

import (
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// A refused write is retried after a minute, not in the same reconciliation. The phase has the cause.
func TestRefusedWrites(t *testing.T) {
	const (
		quota  = "the API server refuses it: exceeded quota"
		failed = "Failed InstallComponentFailed: install strategy failed: " + quota
		secret = "Secret shop/manager-service-cert"
	)
	expectRefusal := func(t *testing.T, c *cluster, key string, wantSteps []string, want string) {
		t.Helper()
		c.refuse(key, quota)
		plan := c.reconcile()
		installtest.Same(t, "steps", wantSteps, stepsOf(plan))
		installtest.Same(t, "webhooks", []string{"v.manager.example.com " + want + quota}, webhooksOf(plan))
		installtest.Same(t, "the last phase", failed, lastPhaseOf(plan))
		if repeated := c.now.Add(time.Minute); plan.Requeue.At.IsZero() || plan.Requeue.At.After(repeated) {
			t.Errorf("the requeue is at %s, want %s", plan.Requeue.At, repeated)
		}
	}
	objects := []string{"Service shop/manager-service", "Role shop/manager-service-cert", "RoleBinding shop/manager-service-cert", "Deployment shop/manager"}
	for _, refused := range append([]string{secret}, objects...) {
		t.Run(refused, func(t *testing.T) {
			c := clusterWith(t, webhookOf("manager"))
			if refused == secret {
				c.Secrets["manager"] = secretOf("manager")
			}
			var others []string
			for _, o := range objects {
				bindsRefused := strings.HasPrefix(refused, "Role ") && strings.HasPrefix(o, "RoleBinding ") // see TestGrantsDesiredRulesOnly
				if o != refused && !bindsRefused {
					others = append(others, "create "+o)
				}
			}
			expectRefusal(t, c, refused, others, "Waiting DeploymentNotAvailable: ")
		})
	}
	t.Run("the registration", func(t *testing.T) {
		expectRefusal(t, unregistered(t), "ValidatingWebhookConfiguration", nil, "Blocked RefusedByAPIServer: ")
	})
}

// A registered webhook stays registered while its repair is refused, and nothing else waits for it.
func TestRefusedRepairs(t *testing.T) {
	const quota, serving = "the API server refuses it: exceeded quota", "Registered Serving: "
	evilImage := func(c *cluster) { c.Observed.Deployments["manager"].Spec.Template.Spec.Containers[0].Image = "evil" }
	for name, test := range map[string]struct {
		change    func(*cluster)
		key, want string
	}{
		"of the registration": {func(c *cluster) {
			c.validating("manager").Webhooks[0].FailurePolicy = new(admissionregistrationv1.Ignore)
		}, "ValidatingWebhookConfiguration", "Blocked RefusedByAPIServer: " + quota},
		"of the Deployment": {evilImage, "Deployment shop/manager", serving},
		"of the Deployment, when availability is enough": {func(c *cluster) {
			c.Policy.Gate = GateAvailable
			evilImage(c)
		}, "Deployment shop/manager", serving},
		"of the Service": {func(c *cluster) { c.Observed.Services["manager-service"].Spec.Selector = map[string]string{} },
			"Service shop/manager-service", serving},
		"of the deleted Service": {func(c *cluster) { delete(c.Observed.Services, "manager-service") },
			"Service shop/manager-service", "Unreachable RefusedByAPIServer: " + quota},
		"of the Role": {func(c *cluster) { delete(c.Observed.Roles, "manager-service-cert") }, "Role shop/manager-service-cert", serving},
	} {
		t.Run(name, func(t *testing.T) {
			c := installed(t, webhookOf("manager"))
			test.change(c)
			c.refuse(test.key, quota)
			plan := c.reconcile()
			installtest.Same(t, "steps", []string(nil), stepsOf(plan))
			installtest.Same(t, "webhooks", []string{"v.manager.example.com " + test.want}, webhooksOf(plan))
			installtest.Same(t, "phases", []string{"Failed InstallComponentFailed: install strategy failed: " + quota}, phasesOf(plan))
			c.Observed.Refused = map[string]string{}
			for range 2 {
				c.wait(time.Minute)
				c.reconcile()
				c.becomeAvailable("manager")
			}
			c.wait(time.Minute)
			c.reconcile()
			c.expectPhase("accepted again", succeeded)
		})
	}
}

// An error of an unreachable webhook of another operator does not fail the installation. The status has the cause.
func TestUnreachableWebhookOfAnotherOperator(t *testing.T) {
	const (
		deployment = "Deployment shop/manager"
		down       = "no endpoint answers a webhook"
	)
	for name, test := range map[string]struct {
		start func(*testing.T) *cluster
		want  []string
		phase operatorsv1alpha1.ClusterServiceVersionPhase
	}{
		"while it is installed": {
			func(t *testing.T) *cluster { return clusterWith(t, webhookOf("manager")) },
			[]string{"create Service shop/manager-service", "create Role shop/manager-service-cert", "create RoleBinding shop/manager-service-cert"}, operatorsv1alpha1.CSVPhaseInstalling,
		},
		"in a repair": {
			func(t *testing.T) *cluster {
				c := installed(t, webhookOf("manager"))
				c.Observed.Deployments["manager"].Spec.Template.Spec.Containers[0].Image = "evil"
				return c
			},
			nil, operatorsv1alpha1.CSVPhaseSucceeded,
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := test.start(t)
			c.refuse(deployment, down)
			c.Observed.Unanswered = map[string]bool{deployment: true}
			plan := c.reconcile()
			installtest.Same(t, "steps", test.want, stepsOf(plan))
			if d := plan.Status.Deployments[0]; d.State != managerv1alpha1.DeploymentPending || d.Reason != managerv1alpha1.ReasonWebhookUnanswered || d.Message != down {
				t.Errorf("the Deployment is %s %s: %s", d.State, d.Reason, d.Message)
			}
			c.expectPhase("refused", test.phase)
		})
	}
}

// A refused deletion is not retried in the same reconciliation.
func TestRefusedUnregistration(t *testing.T) {
	c := installed(t, webhookOf("manager"), webhookOf("manager", mutatingNamed("m.example.com")))
	c.CSV.Spec.WebhookDefinitions = c.CSV.Spec.WebhookDefinitions[:1]
	c.refuse("MutatingWebhookConfiguration", "the API server refuses it: forbidden")
	installtest.Same(t, "steps", []string(nil), stepsOf(c.reconcile()))
}

// A refused removal of a conversion is not retried in the same reconciliation.
func TestRefusedConversionRemoval(t *testing.T) {
	c := installed(t, webhookOf("manager"))
	crd := convertedCRD("manager-service", []string{"v2"}, "-v1", "v2")
	crd.Spec.Conversion.Webhook.ClientConfig.Service.Namespace = "shop"
	c.Observed.CRDs = map[string]*apiextensionsv1.CustomResourceDefinition{crd.Name: crd}
	installtest.Same(t, "steps", []string{"convert CustomResourceDefinition things.example.com: spec.conversion"}, stepsOf(c.next()))
	c.refuse(crdKey(crd.Name), "the API server refuses it: forbidden")
	installtest.Same(t, "refused, steps", []string(nil), stepsOf(c.next()))
}
