package rollout

import (
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/backends"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// Only fields that differ from the desired state are written. The webhook stays registered.
func TestRepairs(t *testing.T) {
	const (
		webhook    = "v.manager.example.com"
		serving    = webhook + " Registered Serving: "
		field      = `webhooks[name="v.manager.example.com"]`
		conditions = field + `.matchConditions[name="never"].expression, ` + field + `.matchConditions[name="never"].name`
	)
	live := func(c *cluster) *admissionregistrationv1.ValidatingWebhook {
		return &c.validating("manager").Webhooks[0]
	}
	for name, test := range map[string]struct {
		change    func(*cluster)
		wantSteps []string
		want      string
	}{
		"nothing differs": {func(*cluster) {}, nil, serving},
		"the policy is weakened": {
			func(c *cluster) { live(c).FailurePolicy = new(admissionregistrationv1.Ignore) },
			[]string{"apply ValidatingWebhookConfiguration " + webhook + ": " + field + ".failurePolicy"}, serving,
		},
		"the caBundle is removed": {
			func(c *cluster) { live(c).ClientConfig.CABundle = nil },
			[]string{"apply ValidatingWebhookConfiguration " + webhook + ": " + field + ".clientConfig.caBundle"}, serving,
		},
		"a match condition is added": {
			func(c *cluster) {
				live(c).MatchConditions = []admissionregistrationv1.MatchCondition{{Name: "never", Expression: "false"}}
			},
			[]string{"update ValidatingWebhookConfiguration " + webhook + ": " + conditions}, serving,
		},
		"a webhook is added": {
			func(c *cluster) {
				c.validating("manager").Webhooks = append(c.validating("manager").Webhooks, admissionregistrationv1.ValidatingWebhook{Name: "x"})
			},
			[]string{"update ValidatingWebhookConfiguration " + webhook + `: webhooks[name="x"].name`}, serving,
		},
		"labels and annotations of other clients": {
			func(c *cluster) {
				c.validating("manager").Labels["theirs"] = "x"
				c.validating("manager").Annotations["theirs"] = "x"
			},
			nil, serving,
		},
		"the registration is deleted": {
			func(c *cluster) { c.Observed.Validating = nil },
			[]string{"create ValidatingWebhookConfiguration " + webhook}, webhook + " Waiting Registering: the registration is being written",
		},
		"the registration is deleted while the Deployment is rolled out": {
			func(c *cluster) {
				c.Observed.Validating = nil
				c.Observed.Deployments["manager"].Status.Replicas = 2
			},
			[]string{"create ValidatingWebhookConfiguration " + webhook}, webhook + " Waiting Registering: the registration is being written",
		},
		"the registration is deleted while too few replicas are available": {
			func(c *cluster) {
				c.Observed.Validating = nil
				c.becomeUnavailable("manager")
				c.serve("manager", "10.244.0.5")
			},
			nil, webhook + ` Waiting DeploymentNotAvailable: deployment "manager" not available: Deployment does not have minimum availability.`,
		},
		"a registration of another type has its name": {
			func(c *cluster) {
				c.Observed.Mutating = []*admissionregistrationv1.MutatingWebhookConfiguration{{ObjectMeta: c.validating("manager").ObjectMeta}}
				c.Observed.Validating = nil
			},
			[]string{"create ValidatingWebhookConfiguration " + webhook, "delete MutatingWebhookConfiguration " + webhook},
			webhook + " Waiting Registering: the registration is being written",
		},
		"the registration is deleted, and no endpoint is ready": {
			func(c *cluster) {
				c.Observed.Validating = nil
				c.serve("manager")
			},
			nil, webhook + " Waiting NoReadyEndpoints: service manager-service has no ready endpoint",
		},
		"a manager with newer facts wrote it": {
			func(c *cluster) {
				c.validating("manager").Annotations["olm-webhook-manager.io/certificate-generation"] = "2"
				live(c).ClientConfig.CABundle = []byte("ca and the next")
			},
			nil, serving,
		},
		"a manager with older facts wrote it": {
			func(c *cluster) {
				c.validating("manager").Annotations["olm-webhook-manager.io/certificate-generation"] = "0"
				live(c).ClientConfig.CABundle = []byte("an old ca")
			},
			[]string{"apply ValidatingWebhookConfiguration " + webhook + ": metadata.annotations.olm-webhook-manager.io/certificate-generation, " + field + ".clientConfig.caBundle"}, serving,
		},
		"another client wrote the generation": {
			func(c *cluster) {
				live := c.validating("manager")
				live.Annotations["olm-webhook-manager.io/certificate-generation"] = "99"
				live.ManagedFields = []metav1.ManagedFieldsEntry{wrote("kubectl-edit", `{"f:metadata":{"f:annotations":{"f:olm-webhook-manager.io/certificate-generation":{}}}}`)}
			},
			[]string{"apply ValidatingWebhookConfiguration " + webhook + ": metadata.annotations.olm-webhook-manager.io/certificate-generation"}, serving,
		},
		"its generation is unreadable": {
			func(c *cluster) {
				c.validating("manager").Annotations["olm-webhook-manager.io/certificate-generation"] = "new"
			},
			[]string{"apply ValidatingWebhookConfiguration " + webhook + ": metadata.annotations.olm-webhook-manager.io/certificate-generation"}, serving,
		},
		"the webhook mutates now": {
			func(c *cluster) {
				c.CSV.Spec.WebhookDefinitions[0].Type = operatorsv1alpha1.MutatingAdmissionWebhook
			},
			[]string{"create MutatingWebhookConfiguration " + webhook, "delete ValidatingWebhookConfiguration " + webhook},
			webhook + " Waiting Registering: the registration is being written",
		},
		"the Service's selector is widened": {
			func(c *cluster) { c.Observed.Services["manager-service"].Spec.Selector = map[string]string{} },
			[]string{"apply Service shop/manager-service: spec.selector"}, serving,
		},
		"the Service is deleted": {
			func(c *cluster) { delete(c.Observed.Services, "manager-service") },
			[]string{"create Service shop/manager-service"}, webhook + " Unreachable ServiceMissing: service manager-service is being created",
		},
		"the Role is widened": {
			func(c *cluster) { c.Observed.Roles["manager-service-cert"].Rules[0].ResourceNames = nil },
			[]string{"apply Role shop/manager-service-cert: rules"}, serving,
		},
		"the RoleBinding is deleted": {
			func(c *cluster) { delete(c.Observed.RoleBindings, "manager-service-cert") },
			[]string{"create RoleBinding shop/manager-service-cert"}, serving,
		},
		"the Deployment is deleted": {
			func(c *cluster) {
				delete(c.Observed.Deployments, "manager")
				c.serve("manager")
			},
			[]string{"create Deployment shop/manager"}, webhook + " Unreachable NoReadyEndpoints: service manager-service has no ready endpoint: the Deployment is being created",
		},
		"the Deployment is scaled to 0": {
			func(c *cluster) {
				c.Observed.Deployments["manager"].Spec.Replicas = new(int32(0))
				c.becomeAvailable("manager")
				c.serve("manager")
			},
			nil, webhook + " Unreachable NoReadyEndpoints: service manager-service has no ready endpoint: " +
				"deployment manager is scaled to 0; to bring it back: kubectl -n shop scale deployment manager --replicas=1",
		},
		"the Deployment is scaled": {
			func(c *cluster) {
				c.Observed.Deployments["manager"].Spec.Replicas = new(int32(3))
				c.becomeAvailable("manager")
			},
			nil, serving,
		},
		"the ClusterServiceVersion asks for other replicas": {
			func(c *cluster) {
				c.Observed.Deployments["manager"].Spec.Replicas = new(int32(3))
				c.spec("manager").Spec.Replicas = new(int32(2))
			},
			[]string{"update Deployment shop/manager: metadata.annotations.olm-webhook-manager.io/replicas, metadata.labels.olm.deployment-spec-hash, spec.replicas"}, serving,
		},
		"the pods are not ready": {
			func(c *cluster) { c.becomeUnavailable("manager") },
			nil, webhook + " Unreachable NoReadyEndpoints: service manager-service has no ready endpoint: " +
				"deployment \"manager\" not available: Deployment does not have minimum availability.",
		},
		"gate Available, not available": {
			func(c *cluster) {
				c.Policy.Gate = GateAvailable
				c.becomeUnavailable("manager")
			},
			nil, webhook + ` Unreachable DeploymentNotAvailable: deployment "manager" not available: Deployment does not have minimum availability.`,
		},
		"gate Available, available": {
			func(c *cluster) {
				c.Policy.Gate = GateAvailable
				c.serve("manager")
			},
			nil, serving,
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := installed(t, webhookOf("manager"))
			test.change(c)
			plan := c.reconcile()
			installtest.Same(t, "steps", test.wantSteps, stepsOf(plan))
			var want []string
			if test.want != "" {
				want = []string{test.want}
			}
			installtest.Same(t, "webhooks", want, webhooksOf(plan))
			installtest.Same(t, "why the order is relaxed", "", conditionOf(plan, "OrderRelaxed"))
			c.wait(time.Second)
			installtest.Same(t, "steps of the next reconciliation", []string(nil), stepsOf(c.reconcile()))
		})
	}
}

// A deleted registration is recreated when its endpoints answer, even after several reconciliations without an answer.
func TestRegistrationIsRecreatedDuringRollout(t *testing.T) {
	for want, c := range map[string]*cluster{
		"create ValidatingWebhookConfiguration v.manager.example.com": installed(t, webhookOf("manager")),
		"create APIService " + pondAPI:                                clusterWithAPIService(t, "manager").succeed(),
	} {
		c.Observed.Validating, c.Observed.APIServices = nil, nil
		c.Observed.Deployments["manager"].Status.Replicas = 2
		c.answer = func(backends.Endpoint) backends.Answer { return backends.Answer{Reason: "Refused", Message: "refuses"} }
		for range 3 {
			installtest.Same(t, "steps", []string(nil), stepsOf(c.reconcile()))
			c.wait(time.Second)
		}
		c.answer = func(backends.Endpoint) backends.Answer { return backends.Answer{} }
		previous := c.Previous
		plan := c.reconcile()
		installtest.Same(t, "steps", []string{want}, stepsOf(plan))
		installtest.Same(t, want+" counts as a repair", true, plan.Steps[0].IsRepair(previous, nil))
	}
}

func conditionOf(plan Plan, kind string) string {
	for _, c := range plan.Status.Conditions {
		if c.Type == kind && c.Status == metav1.ConditionTrue {
			return c.Reason + ": " + c.Message
		}
	}
	return ""
}

// Without a change, a reconciliation writes nothing, reports nothing new, and does not requeue.
func TestNothingToDo(t *testing.T) {
	c := installed(t, webhookOf("first"), webhookOf("second", mutatingNamed("m.example.com")))
	plan := c.next()
	if len(plan.Steps)+len(plan.Probes)+len(plan.Phases) > 0 || !plan.Requeue.At.IsZero() {
		t.Errorf("the plan is %+v", plan)
	}
	installtest.Same(t, "the status changed", c.Previous, plan.Status)
	if plan.Status.ReadyRegistrations != 2 || plan.Status.Registrations != 2 || conditionOf(plan, "Ready") == "" {
		t.Errorf("not ready: %+v", plan.Status)
	}
}

func TestUpdateKeepsFieldsOfOtherClients(t *testing.T) {
	c := installed(t, webhookOf("manager"))
	live := c.validating("manager")
	live.Labels["theirs"], live.Annotations["theirs"] = "x", "x"
	live.OwnerReferences = []metav1.OwnerReference{{Kind: "ClusterRole", Name: "theirs", UID: "theirs"}}
	live.Webhooks[0].MatchConditions = []admissionregistrationv1.MatchCondition{{Name: "never", Expression: "false"}}

	step := c.next().Steps[0]
	want := live.DeepCopy()
	want.Webhooks[0].MatchConditions, want.ManagedFields = nil, nil
	installtest.Same(t, "verb", Update, step.Verb)
	installtest.Same(t, "the write", drift.Object(want), step.Object)
}

// An update of a Deployment replaces its whole spec and sets the current owner.
func TestUpdateOfDeployment(t *testing.T) {
	c := installed(t, webhookOf("manager"))
	live := c.Observed.Deployments["manager"]
	live.OwnerReferences[0].UID = "uid-of-a-former-shop"
	live.Annotations["deployment.kubernetes.io/revision"] = "7"
	live.Spec.Replicas = new(int32(3))
	live.Spec.Template.Spec.Containers[0].Command = []string{"evil"}
	live.Spec.Template.Spec.Containers[0].Image = "evil"

	got := c.next().Steps[0].Object.(*appsv1.Deployment)
	installtest.Same(t, "the resourceVersion", live.ResourceVersion, got.ResourceVersion)
	installtest.Same(t, "the UID", live.UID, got.UID)
	if got.Annotations["deployment.kubernetes.io/revision"] != "7" || len(got.OwnerReferences) != 1 || got.OwnerReferences[0].UID != "uid-of-shop" {
		t.Errorf("metadata: %+v", got.ObjectMeta)
	}
	desired := c.Desired.Deployments[0].Object.DeepCopy()
	desired.Spec.Replicas = new(int32(3))
	installtest.Same(t, "spec", desired.Spec, got.Spec)
}
