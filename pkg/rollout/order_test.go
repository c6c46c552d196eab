package rollout

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/backends"
)

// clusterWithUnreadyFirst returns a cluster whose first Deployment does not become ready. A second one waits for it.
func clusterWithUnreadyFirst(t *testing.T) *cluster {
	t.Helper()
	c := clusterWith(t, webhookOf("first"), webhookOf("second"))
	c.reconcile()
	c.becomeUnavailable("first")
	return c
}

// runUnready makes the containers of the first Deployment run without becoming ready.
func runUnready(c *cluster) {
	c.Observed.Pods["first"] = []*corev1.Pod{{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "first-0"},
		Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
			Name: "manager", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(c.now)}},
		}}},
	}}
}

func TestOrderRelaxed(t *testing.T) {
	const postponed = "second Pending EarlierDeployment: starts after deployment first and its webhooks"
	unready := `deployment "first" not available: Deployment does not have minimum availability.`
	for name, test := range map[string]struct {
		change      func(*cluster)
		after       time.Duration
		wantStarted bool
		wantRelaxed string
		wantRequeue time.Duration // after noon
	}{
		"before the timeout": {change: func(*cluster) {}, after: 59 * time.Second, wantRequeue: time.Minute},
		"at the timeout": {
			change: func(*cluster) {}, after: time.Minute,
			wantStarted: true, wantRelaxed: "OrderRelaxed: deployment first is not complete within its bound, the next one starts without it: " + unready,
		},
		"running and not ready, before the timeout": {change: runUnready, after: 19 * time.Second, wantRequeue: 20 * time.Second},
		"running and not ready, at the timeout": {
			change: runUnready, after: 20 * time.Second,
			wantStarted: true, wantRelaxed: "OrderRelaxed: deployment first is not complete within its bound, the next one starts without it: " +
				strings.TrimSuffix(unready, ".") + ": pod first-0: container manager runs and its readiness probe fails; if it stays so, look at the pod's events: kubectl -n shop describe pod first-0",
		},
		"containers that started late have the whole timeout": {
			change: func(c *cluster) {
				c.wait(15 * time.Second)
				runUnready(c)
			},
			after: 19 * time.Second, wantRequeue: 35 * time.Second,
		},
		"containers that started very late do not extend the other timeout": {
			change: func(c *cluster) {
				c.wait(50 * time.Second)
				runUnready(c)
			},
			after: 5 * time.Second, wantRequeue: time.Minute,
		},
		"the webhook does not serve": {
			change: func(c *cluster) {
				c.becomeAvailable("first")
				c.serve("first")
			},
			after: time.Minute, wantStarted: true,
			wantRelaxed: "OrderRelaxed: deployment first is not complete within its bound, the next one starts without it: webhook v.first.example.com: service first-service has no ready endpoint",
		},
		"complete": {
			change: func(c *cluster) {
				c.becomeAvailable("first")
				c.reconcile()
			},
			after: 0, wantStarted: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := clusterWithUnreadyFirst(t)
			test.change(c)
			c.wait(test.after)
			plan := c.reconcile()
			started := slices.Contains(stepsOf(plan), "create Deployment shop/second")
			installtest.Same(t, "the second starts", test.wantStarted, started)
			installtest.Same(t, "why the order is relaxed", test.wantRelaxed, conditionOf(plan, "OrderRelaxed"))
			if d := plan.Status.Deployments[1]; !started && d.Name+" "+string(d.State)+" "+d.Reason+": "+d.Message != postponed {
				t.Errorf("the second is %+v", d)
			}
			if test.wantRequeue != 0 && !plan.Requeue.At.Equal(noon.Add(test.wantRequeue)) {
				t.Errorf("the requeue is at %s, want %s", plan.Requeue.At, noon.Add(test.wantRequeue))
			}
		})
	}
}

// If an installed operator loses its pods, no Deployment starts out of order, and the condition is not set.
func TestOrderIsNotRelaxedAfterInstallation(t *testing.T) {
	c := installed(t, webhookOf("first"), webhookOf("second"))
	c.becomeUnavailable("first")
	c.wait(time.Hour)
	installtest.Same(t, "why the order is relaxed", "", conditionOf(c.reconcile(), "OrderRelaxed"))
}

// After a registration is deleted, the whole timeout passes before a new Deployment starts without it.
func TestOrderTimeoutBeginsWithUnregistration(t *testing.T) {
	c := installed(t, webhookOf("first"))
	c.declare("second")
	c.Observed.Validating = nil
	c.answer = func(backends.Endpoint) backends.Answer { return backends.Answer{Reason: "Refused", Message: "refuses"} }
	for _, moment := range []struct {
		after time.Duration
		want  []string
	}{
		{0, nil},
		{59 * time.Second, nil},
		{time.Second, []string{"create Deployment shop/second"}},
	} {
		c.wait(moment.after)
		installtest.Same(t, fmt.Sprintf("%s later, steps", moment.after), moment.want, stepsOf(c.reconcile()))
	}
}

// An existing Deployment and its webhooks are repaired even if an earlier Deployment is not ready.
func TestPostponedDeploymentIsRepaired(t *testing.T) {
	c := installed(t, webhookOf("first"), webhookOf("second"))
	c.becomeUnavailable("first")
	c.Observed.Deployments["second"].Spec.Template.Spec.Containers[0].Image = "evil"
	c.validating("second").Webhooks[0].FailurePolicy = new(admissionregistrationv1.Ignore)
	want := []string{
		`update Deployment shop/second: spec.template.spec.containers[name="manager"].image`,
		`apply ValidatingWebhookConfiguration v.second.example.com: webhooks[name="v.second.example.com"].failurePolicy`,
	}
	plan := c.reconcile()
	installtest.Same(t, "steps", want, stepsOf(plan))
	installtest.Same(t, "webhooks", []string{
		"v.first.example.com Unreachable NoReadyEndpoints: service first-service has no ready endpoint: " +
			"deployment \"first\" not available: Deployment does not have minimum availability.",
		"v.second.example.com Registered Serving: ",
	}, webhooksOf(plan))
}
