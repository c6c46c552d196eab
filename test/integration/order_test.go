package integration

import (
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller"
)

// The second Deployment may create what the first one's webhook has to see.
func TestSecondDeploymentStartsAfterTheFirstWebhook(t *testing.T) {
	e := newParallelEnv(t)
	e.group("og", allNamespaces)
	e.runDeployments("first")
	proxy := proxy(e, nil)
	m := manageThrough(e, proxy.Config())
	e.create(csv("operator.v1", "first", "second"))
	e.reaches("operator.v1", operatorsv1alpha1.CSVPhaseInstalling, operatorsv1alpha1.CSVReasonWaiting)
	m.looksAgain("operator.v1")
	same(t, "the second Deployment before the first is available", e.deployment("second"), nil)
	if d := e.rollout("operator.v1").Deployments[1]; d.State != "Pending" || d.Reason != "EarlierDeployment" {
		t.Errorf("the second Deployment is %s/%s, want Pending/EarlierDeployment", d.State, d.Reason)
	}

	setAvailable(e, "first", true)
	e.succeeds("operator.v1")
	writes := proxy.Writes()
	registered := slices.IndexFunc(writes, isRegistration)
	slices.Reverse(writes)
	second := len(writes) - 1 - slices.IndexFunc(writes, func(w string) bool { return strings.HasPrefix(w, "POST") && strings.HasSuffix(w, "/deployments") })
	if registered > second {
		t.Errorf("the second Deployment was started by write %d, before the webhook was registered by %d", second, registered)
	}
}

// The first Deployment may wait for a webhook of the second: the order is no trap.
func TestOrderIsRelaxed(t *testing.T) {
	e := newParallelEnv(t)
	e.group("og", allNamespaces)
	e.runDeployments("first")
	e.manage(func(o *controller.Options) { o.Rollout.OrderTimeout = time.Second })
	c := csv("operator.v1", "first", "second")
	c.Spec.WebhookDefinitions = append(c.Spec.WebhookDefinitions, webhook("second.example.com", "second"))
	e.create(c)
	e.eventually("the second webhook is registered", func() (bool, any) {
		w := webhookStatus(e, "operator.v1", "second.example.com")
		return w.State == "Registered", w
	})
	relaxed := meta.FindStatusCondition(e.rollout("operator.v1").Conditions, "OrderRelaxed")
	if relaxed == nil || !strings.HasPrefix(relaxed.Message, "deployment first is not complete within its bound") {
		t.Errorf("condition OrderRelaxed: %+v", relaxed)
	}
	if _, registered := registered(e)["v.example.com"]; registered {
		t.Error("the first Deployment's webhook is registered, and no server serves it")
	}

	setAvailable(e, "first", true)
	e.succeeds("operator.v1")
	e.eventually("the order is not relaxed any more", func() (bool, any) {
		conditions := e.rollout("operator.v1").Conditions
		return meta.FindStatusCondition(conditions, "OrderRelaxed") == nil, conditions
	})
}

func TestInstallTimeout(t *testing.T) {
	e := newParallelEnv(t)
	e.group("og", allNamespaces)
	e.manage(func(o *controller.Options) { o.Rollout.InstallTimeout = time.Second })
	e.create(csv("operator.v1", "server"))
	message := e.reaches("operator.v1", operatorsv1alpha1.CSVPhaseFailed, operatorsv1alpha1.CSVReasonInstallCheckFailed)
	if !strings.HasPrefix(message, "install timeout") || !strings.Contains(message, "deployment server") {
		t.Errorf("message %q, want %q and the name of the Deployment", message, "install timeout")
	}
	registersNothing(e)
	setAvailable(e, "server", true)
	e.succeeds("operator.v1")
}

// A live webhook that no endpoint answers stays as it is: to unregister it, or to ignore its
// failures, would let through what it has to stop.
func TestUnreachable(t *testing.T) {
	e := newParallelEnv(t)
	e.group("og", allNamespaces)
	e.manage()
	e.create(csv("operator.v1", "server"))
	e.reaches("operator.v1", operatorsv1alpha1.CSVPhaseInstalling, operatorsv1alpha1.CSVReasonWaiting)
	setAvailable(e, "server", true)
	e.succeeds("operator.v1")
	before := e.registration("v.example.com").ResourceVersion

	setAvailable(e, "server", false)
	e.reachesSaying("operator.v1", operatorsv1alpha1.CSVPhaseFailed, operatorsv1alpha1.CSVReasonComponentUnhealthy, `"server"`)
	same(t, "the state in the WebhookRollout", webhookStatus(e, "operator.v1", "v.example.com").State, "Unreachable")
	if r := e.rollout("operator.v1"); r.ReadyRegistrations != 0 || r.Registrations != 1 || meta.IsStatusConditionTrue(r.Conditions, "Ready") {
		t.Errorf("the WebhookRollout has %d of %d ready, %+v", r.ReadyRegistrations, r.Registrations, r.Conditions)
	}

	setAvailable(e, "server", true)
	e.succeeds("operator.v1")
	same(t, "the state in the WebhookRollout", webhookStatus(e, "operator.v1", "v.example.com").State, "Registered")
	same(t, "resourceVersion of the registration", e.registration("v.example.com").ResourceVersion, before)
}
