package rollout

import (
	"strings"
	"testing"
	"time"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/backends"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/phase"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
)

const (
	installing = operatorsv1alpha1.CSVPhaseInstalling
	succeeded  = operatorsv1alpha1.CSVPhaseSucceeded
	failed     = operatorsv1alpha1.CSVPhaseFailed
)

// The timeout of five minutes begins at the last progress of each Deployment and its webhooks.
func TestInstallTimeout(t *testing.T) {
	c := clusterWith(t, webhookOf("first"), webhookOf("second"))
	c.answer = func(e backends.Endpoint) backends.Answer {
		return backends.Answer{Reason: "Refused", Message: e.What + " refuses"}
	}
	for _, moment := range []struct {
		at      time.Duration
		happens func()
		want    operatorsv1alpha1.ClusterServiceVersionPhase
		because string // part of the message
	}{
		{0, func() {}, installing, "deployment first to become ready"},
		{10 * time.Second, func() { c.becomeUnavailable("first") }, installing, "deployment first to become ready"},
		{4 * time.Minute, func() { c.becomeAvailable("first") }, installing, "webhook v.first.example.com to be registered"},
		{9*time.Minute - time.Second, func() {}, installing, "webhook v.first.example.com to be registered"},
		{9 * time.Minute, func() {}, failed, "install timeout: waiting for webhook v.first.example.com to be registered: pod shop/first-0 refuses"},
		{20 * time.Minute, func() {}, failed, "install timeout"},
		{20*time.Minute + time.Second, func() { c.answer = func(backends.Endpoint) backends.Answer { return backends.Answer{} } }, failed, "install timeout"},
		{20*time.Minute + 2*time.Second, func() {}, failed, "install timeout"}, // settling
		{20*time.Minute + 30*time.Second, func() { c.becomeAvailable("second") }, failed, "install timeout"},
		{20*time.Minute + 31*time.Second, func() {}, failed, "install timeout"},
		{20*time.Minute + 40*time.Second, func() {}, succeeded, "install strategy completed with no errors"},
	} {
		c.now = noon.Add(moment.at)
		moment.happens()
		c.reconcile()
		if is := phase.Of(c.CSV.Status); is.Phase != moment.want || !strings.Contains(is.Message, moment.because) {
			t.Errorf("at %s it is %s: %s; want %s: …%s…", moment.at, is.Phase, is.Message, moment.want, moment.because)
		}
	}
}

func TestInstallTimeoutIsRequeued(t *testing.T) {
	c := clusterWith(t, webhookOf("manager"))
	c.reconcile()
	c.becomeUnavailable("manager")
	c.wait(time.Second)
	plan := c.reconcile()
	if want := noon.Add(5 * time.Minute); !plan.Requeue.At.Equal(want) {
		t.Fatalf("the requeue is at %s, want %s", plan.Requeue.At, want)
	}
	c.now = plan.Requeue.At
	plan = c.reconcile()
	want := []string{`Failed InstallCheckFailed: install timeout: waiting for deployment manager to become ready: deployment "manager" not available: Deployment does not have minimum availability.`}
	installtest.Same(t, "phases", want, phasesOf(plan))
	if !plan.Requeue.At.IsZero() {
		t.Errorf("after the timeout, it requeues at %s", plan.Requeue.At)
	}
}

// The timeout begins with the installation, not with the creation of older Deployments.
func TestInstallTimeoutOfOldDeployments(t *testing.T) {
	c := clusterWith(t, webhookOf("manager"))
	c.reconcile()
	c.becomeAvailable("manager")
	c.Failure = &scope.Failure{Reason: operatorsv1alpha1.CSVReasonTooManyOperatorGroups, Message: "two"}
	c.reconcile()
	c.wait(time.Hour)
	c.Failure = nil
	c.answer = func(backends.Endpoint) backends.Answer { return backends.Answer{Reason: "Refused", Message: "refuses"} }
	c.reconcile()
	c.wait(time.Second)
	c.reconcile()
	if c.CSV.Status.Phase != installing {
		t.Errorf("with a scope again it is %s: %s", c.CSV.Status.Phase, c.CSV.Status.Message)
	}
	c.answer = func(backends.Endpoint) backends.Answer { return backends.Answer{} }
	c.wait(4 * time.Minute)
	c.reconcile()
	c.wait(59 * time.Second)
	if c.reconcile(); c.CSV.Status.Phase != succeeded {
		t.Errorf("with its webhook registered it is %s: %s", c.CSV.Status.Phase, c.CSV.Status.Message)
	}
}

// A registration that is created shortly before the timeout has the whole settle time.
func TestInstallTimeoutOfNewRegistrations(t *testing.T) {
	c := clusterWith(t, webhookOf("manager"))
	c.Observed.UnlabelledNamespaces = []string{"red"}
	c.reconcile()
	c.becomeAvailable("manager")
	c.reconcile()
	c.Observed.UnlabelledNamespaces = nil
	c.wait(5*time.Minute - time.Second)
	c.reconcile()
	c.wait(time.Second)
	if c.reconcile(); c.CSV.Status.Phase != installing {
		t.Errorf("it is %s: %s", c.CSV.Status.Phase, c.CSV.Status.Message)
	}
}
