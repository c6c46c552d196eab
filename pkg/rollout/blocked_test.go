package rollout

import (
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/requirements"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/report"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
)

// obstacles are problems that block the installation of a ClusterServiceVersion.
var obstacles = map[string]struct {
	put        func(*cluster)
	why        string
	wantPhase  string
	wantReady  string // reason of the condition Ready
	maintained bool   // registered webhooks are maintained
}{
	"no scope": {
		func(c *cluster) {
			c.Failure = &scope.Failure{Reason: operatorsv1alpha1.CSVReasonTooManyOperatorGroups, Message: "two OperatorGroups"}
		},
		"two OperatorGroups", "Failed TooManyOperatorGroups: two OperatorGroups", "TooManyOperatorGroups", false,
	},
	"an invalid description": {
		func(c *cluster) {
			c.Verdict = requirements.Verdict{Violations: []requirements.Violation{{Message: "webhook rules cannot include all groups", WayOut: "name them"}}}
		},
		"webhook rules cannot include all groups; name them", "Failed InvalidWebhookDescription: webhook rules cannot include all groups; name them", "InvalidWebhookDescription", false,
	},
	"a requirement": {
		func(c *cluster) {
			c.Verdict = requirements.Verdict{Requirements: []operatorsv1alpha1.RequirementStatus{
				{Kind: "ServiceAccount", Name: "shop", Status: operatorsv1alpha1.RequirementStatusReasonNotPresent, Message: "create it"},
			}}
		},
		"ServiceAccount shop: create it", "Pending RequirementsNotMet: one or more requirements couldn't be found: ServiceAccount shop: create it", "RequirementsNotMet", true,
	},
}

func TestBlockedInstallation(t *testing.T) {
	for name, obstacle := range obstacles {
		t.Run(name, func(t *testing.T) {
			c := clusterWith(t, webhookOf("manager"))
			obstacle.put(c)
			plan := c.reconcile()
			installtest.Same(t, "the number of steps and probes", 0, len(plan.Steps)+len(plan.Probes))
			installtest.Same(t, "the requeue, although a watch triggers it", time.Time{}, plan.Requeue.At)
			installtest.Same(t, "webhooks", []string{"v.manager.example.com Blocked NotInstallable: " + obstacle.why}, webhooksOf(plan))
			if d := plan.Status.Deployments[0]; d.State != managerv1alpha1.DeploymentPending || d.Reason != "NotInstallable" || d.Message != obstacle.why {
				t.Errorf("the Deployment is %s (%s): %s", d.State, d.Reason, d.Message)
			}
			installtest.Same(t, "the last phase", obstacle.wantPhase, lastPhaseOf(plan))
			ready := plan.Status.Conditions[0]
			installtest.Same(t, "Ready", "False "+obstacle.wantReady, string(ready.Status)+" "+ready.Reason)
			c.wait(time.Second)
			installtest.Same(t, "phases of the next reconciliation", []string(nil), phasesOf(c.reconcile()))
		})
	}
}

// Registered webhooks stay registered, and their reachability is reported. If the desired state is
// unknown, they are not changed; they are repaired after the problem is fixed.
func TestBlockedAfterInstallation(t *testing.T) {
	for name, obstacle := range obstacles {
		t.Run(name, func(t *testing.T) {
			c := installed(t, webhookOf("manager"))
			obstacle.put(c)
			c.validating("manager").Webhooks[0].FailurePolicy = new(admissionregistrationv1.Ignore)
			repair := []string{`apply ValidatingWebhookConfiguration v.manager.example.com: webhooks[name="v.manager.example.com"].failurePolicy`}
			var now, afterwards []string
			if obstacle.maintained {
				now = repair
			} else {
				afterwards = repair
			}
			plan := c.reconcile()
			installtest.Same(t, "steps", now, stepsOf(plan))
			installtest.Same(t, "the number of probes", 0, len(plan.Probes))
			installtest.Same(t, "webhooks", []string{"v.manager.example.com Registered Held: stays as it was registered: " + obstacle.why}, webhooksOf(plan))
			installtest.Same(t, "the Deployment", managerv1alpha1.DeploymentAvailable, plan.Status.Deployments[0].State)
			installtest.Same(t, "the last phase", obstacle.wantPhase, lastPhaseOf(plan))
			ready := plan.Status.Conditions[0]
			installtest.Same(t, "Ready", "False "+obstacle.wantReady, string(ready.Status)+" "+ready.Reason)

			c.Failure, c.Verdict = nil, requirements.Verdict{}
			installtest.Same(t, "steps without the obstacle", afterwards, stepsOf(c.reconcile()))
			c.expectPhase("without the obstacle", succeeded)
		})
	}
}

func TestBlockedWithoutEndpoints(t *testing.T) {
	c := installed(t, webhookOf("manager"))
	obstacles["no scope"].put(c)
	c.becomeUnavailable("manager")
	plan := c.reconcile()
	if w := plan.Status.Deployments[0].Webhooks[0]; w.State != managerv1alpha1.WebhookUnreachable || w.Reason != "NoReadyEndpoints" {
		t.Errorf("the webhook is %s (%s): %s", w.State, w.Reason, w.Message)
	}
	if events := report.EventsOf(managerv1alpha1.WebhookRolloutStatus{}, plan.Status); len(events) != 2 || events[1].Reason != "WebhookUnreachable" {
		t.Errorf("events %+v", events)
	}
}

// A Deployment that only a webhook names, and a webhook that is declared twice, are reported once each.
func TestBlockedWithInvalidDescriptions(t *testing.T) {
	c := clusterWith(t, webhookOf("manager"), webhookOf("manager"))
	c.CSV.Spec.WebhookDefinitions = append(c.CSV.Spec.WebhookDefinitions, webhookOf("manger"))
	obstacles["an invalid description"].put(c)
	want := []string{
		"v.manager.example.com Blocked NotInstallable: webhook rules cannot include all groups; name them",
		"v.manger.example.com Blocked NotInstallable: webhook rules cannot include all groups; name them",
	}
	installtest.Same(t, "webhooks", want, webhooksOf(c.reconcile()))
}

// Without scope, with an invalid description or a blocked deletion, only the caBundle and certificate are updated.
func TestCABundleOnly(t *testing.T) {
	const registration = "update ValidatingWebhookConfiguration v.manager.example.com: webhooks.clientConfig.caBundle"
	ways := map[string]func(*cluster){
		"no scope": obstacles["no scope"].put, "an invalid description": obstacles["an invalid description"].put, "blocked deletion": func(c *cluster) { c.DeletionBlocked = true },
	}
	for name, test := range map[string]struct {
		happens func(*cluster)
		want    []string
	}{
		"no change": {func(*cluster) {}, nil},
		"renewed CA": {func(c *cluster) {
			c.trust.CABundle, c.trust.Generation = []byte("ca and next ca"), 2
		}, []string{registration}},
		"renewed CA, another rule": {func(c *cluster) {
			c.CSV.Spec.WebhookDefinitions[0].Rules = []admissionregistrationv1.RuleWithOperations{{}}
			c.trust.CABundle, c.trust.Generation = []byte("ca and next ca"), 2
		}, []string{registration}},
		"renewed CA, another Deployment": {func(c *cluster) {
			c.CSV.Spec.WebhookDefinitions[0].DeploymentName = "absent"
			c.trust.CABundle, c.trust.Generation = []byte("ca and next ca"), 2
		}, []string{registration}},
		"renewed CA, removed webhook": {func(c *cluster) {
			c.CSV.Spec.WebhookDefinitions = nil
			c.trust.CABundle, c.trust.Generation = []byte("ca and next ca"), 2
		}, []string{registration}},
		"a newer generation is registered": {func(c *cluster) {
			c.trust.CABundle, c.trust.Generation = []byte("previous ca"), 0
		}, nil},
		"restart required":     {func(c *cluster) { c.trust.RestartedFor = "2" }, []string{"update Deployment shop/manager: spec.template.metadata.annotations"}},
		"another image":        {func(c *cluster) { c.spec("manager").Spec.Template.Spec.Containers[0].Image = "shop:2" }, nil},
		"deleted registration": {func(c *cluster) { c.remove(c.validating("manager")) }, nil},
		"deleted Deployment":   {func(c *cluster) { delete(c.Observed.Deployments, "manager") }, nil},
		"deleted Service":      {func(c *cluster) { delete(c.Observed.Services, "manager-service") }, nil},
	} {
		for way, put := range ways {
			t.Run(name+", "+way, func(t *testing.T) {
				c := installedWithWorker(t)
				put(c)
				c.reconcile()
				test.happens(c)
				installtest.Same(t, "steps", test.want, stepsOf(c.reconcile()))
				installtest.Same(t, "the next reconciliation", []string(nil), stepsOf(c.reconcile()))
			})
		}
	}
}

// The next certificate is stored, and pods are re-synced.
func TestCertificateOfABlockedVersion(t *testing.T) {
	for way, put := range map[string]func(*cluster){
		"no scope": obstacles["no scope"].put, "an invalid description": obstacles["an invalid description"].put,
		"a requirement": obstacles["a requirement"].put, "blocked deletion": func(c *cluster) { c.DeletionBlocked = true },
	} {
		c := installed(t, webhookOf("manager"))
		put(c)
		c.Secrets["manager"] = nextSecretOf("manager")
		c.ResyncPods = []*corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "manager-0"}}}
		plan := c.next()
		installtest.Same(t, way+": steps", []string{"update Secret shop/manager-service-cert: data", "resync Pod shop/manager-0"}, stepsOf(plan))
		if plan.Status.Deployments[0].Certificate == nil {
			t.Errorf("%s: the status has no certificate", way)
		}
	}
}
