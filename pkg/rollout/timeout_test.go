package rollout

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/requirements"
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
	c.answer = refuses
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
	installtest.Same(t, "the requeue", noon.Add(5*time.Minute), plan.Requeue.At)
	c.now = plan.Requeue.At
	plan = c.reconcile()
	want := []string{`Failed InstallCheckFailed: install timeout: waiting for deployment manager to become ready: deployment "manager" not available: Deployment does not have minimum availability.`}
	installtest.Same(t, "phases", want, phasesOf(plan))
	installtest.Same(t, "the requeue after the timeout", time.Time{}, plan.Requeue.At)
}

// A Deployment that exceeds its own progress deadline ends the installation before the timeout. A later completion continues it.
func TestProgressDeadlineEndsTheInstallation(t *testing.T) {
	c := clusterWith(t, webhookOf("manager"))
	c.reconcile()
	c.becomeUnavailable("manager")
	c.wait(10 * time.Second)
	c.reconcile()
	c.expectPhase("before the deadline", installing)
	progressing := &c.Observed.Deployments["manager"].Status.Conditions[0]
	progressing.Status, progressing.Reason = corev1.ConditionFalse, "ProgressDeadlineExceeded"
	progressing.LastTransitionTime, progressing.LastUpdateTime = metav1.NewTime(c.now), metav1.NewTime(c.now)
	want := []string{`Failed InstallCheckFailed: install timeout: waiting for deployment manager to become ready: deployment "manager" exceeded its progress deadline: Deployment does not have minimum availability.`}
	installtest.Same(t, "phases", want, phasesOf(c.reconcile()))
	c.becomeAvailable("manager")
	for range 4 {
		c.reconcileLater("manager")
	}
	c.expectPhase("when it is available", succeeded)
}

// The timeout begins with the installation, not with the creation of older Deployments.
func TestInstallTimeoutOfOldDeployments(t *testing.T) {
	c := unregistered(t)
	c.Failure = &scope.Failure{Reason: operatorsv1alpha1.CSVReasonTooManyOperatorGroups, Message: "two"}
	c.reconcile()
	c.wait(time.Hour)
	c.Failure = nil
	c.answer = func(backends.Endpoint) backends.Answer { return backends.Answer{Reason: "Refused", Message: "refuses"} }
	c.reconcile()
	c.wait(time.Second)
	c.reconcile()
	c.expectPhase("with a scope again", installing)
	c.answer = func(backends.Endpoint) backends.Answer { return backends.Answer{} }
	c.wait(4 * time.Minute)
	c.reconcile()
	c.wait(59 * time.Second)
	c.reconcile() // It asks API servers.
	c.reconcile()
	c.expectPhase("with its webhook registered", succeeded)
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
	c.reconcile()
	c.expectPhase("at the timeout", installing)
}

// If API servers cannot be asked, the settle time passes. It begins at the recorded creation time of a registration. Without a record it
// begins at the end of the second in metadata.creationTimestamp.
func TestSettleTimeBeginsWithCreation(t *testing.T) {
	const created = 300 * time.Millisecond // after the full second
	for name, test := range map[string]struct {
		recorded bool
		settled  time.Duration
	}{
		"recorded":     {true, created + 5*time.Second - time.Nanosecond},
		"not recorded": {false, 6 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			c := unregistered(t)
			c.Policy.Settle, c.unknown = 5*time.Second, "no address"
			second := c.now.Truncate(time.Second)
			c.now = second.Add(created)
			c.reconcile()
			if !test.recorded {
				clear(c.Observed.CreationTimes)
			}
			c.wait(time.Second)
			c.reconcile() // It asks API servers.
			plan := c.reconcile()
			installtest.Same(t, "the requeue", second.Add(test.settled), plan.Requeue.At)
			c.now = plan.Requeue.At.Add(-time.Millisecond)
			if c.reconcile(); c.CSV.Status.Phase == succeeded {
				t.Error("it has succeeded before the requeue")
			}
			c.now = plan.Requeue.At
			c.reconcile()
			c.expectPhase("at the requeue", succeeded)
		})
	}
}

// An installation with awaited versions completes when they are served. Its message reports what it
// waits for after the webhooks serve. After the timeout it is Failed, and it still succeeds when
// the versions are served.
func TestAwaitedVersions(t *testing.T) {
	t.Run("by the installer", func(t *testing.T) {
		testAwaitedVersions(t, requirements.Verdict{Awaited: []string{"things.example.com/v2"}},
			"things.example.com/v2 to be served: its webhook converts: add the version to the definition now (bundle upgrade does so; if it was interrupted, run it again)")
	})
	t.Run("by the manager", func(t *testing.T) {
		testAwaitedVersions(t, requirements.Verdict{Held: []string{"things.example.com/v2"}},
			"things.example.com/v2 to be served: the manager serves it as soon as no object can lose a field")
	})
}

func testAwaitedVersions(t *testing.T, verdict requirements.Verdict, waits string) {
	t.Helper()
	c := clusterWith(t, webhookOf("server"))
	c.Verdict.Awaited, c.Verdict.Held = verdict.Awaited, verdict.Held
	c.reconcile()
	for range 4 {
		c.reconcileLater("server")
	}
	expectPhase := func(want operatorsv1alpha1.ClusterServiceVersionPhase, message, ready string) {
		t.Helper()
		condition := meta.FindStatusCondition(c.Previous.Conditions, managerv1alpha1.ConditionReady)
		if c.CSV.Status.Phase != want || phase.Of(c.CSV.Status).Message != message || condition.Reason != ready {
			t.Errorf("it is %s: %s; ready is %+v; want %s: %s, %s", c.CSV.Status.Phase, phase.Of(c.CSV.Status).Message, condition, want, message, ready)
		}
	}
	expectPhase(operatorsv1alpha1.CSVPhaseInstalling, "installing: waiting for "+waits, managerv1alpha1.ReasonVersionAwaited)
	installtest.Same(t, "the timeout is requeued", false, c.reconcile().Requeue.At.IsZero())
	c.wait(c.Policy.InstallTimeout + time.Second)
	c.reconcile()
	expectPhase(operatorsv1alpha1.CSVPhaseFailed, "install timeout: waiting for "+waits, managerv1alpha1.ReasonVersionAwaited)
	c.Verdict.Awaited, c.Verdict.Held = nil, nil
	c.reconcile()
	expectPhase(operatorsv1alpha1.CSVPhaseSucceeded, "install strategy completed with no errors", "AllWebhooksServe")
}
