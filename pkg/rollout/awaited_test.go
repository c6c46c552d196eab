package rollout

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/phase"
)

// An installation with awaited versions completes when they are served. Its message says what it
// waits for after the webhooks serve. After the timeout it is Failed, and it still succeeds when
// the versions are served.
func TestAwaitedVersions(t *testing.T) {
	c := clusterWith(t, webhookOf("server"))
	c.Verdict.Awaited = []string{"things.example.com/v2"}
	c.reconcile()
	for range 4 {
		c.reconcileLater("server")
	}
	const waits = "things.example.com/v2 to be served: its webhook converts: add the version to the definition now (bundle upgrade does so; if it was interrupted, run it again)"
	expectPhase := func(want operatorsv1alpha1.ClusterServiceVersionPhase, message, ready string) {
		t.Helper()
		condition := meta.FindStatusCondition(c.Previous.Conditions, managerv1alpha1.ConditionReady)
		if c.CSV.Status.Phase != want || phase.Of(c.CSV.Status).Message != message || condition.Reason != ready {
			t.Errorf("it is %s: %s; ready is %+v; want %s: %s, %s", c.CSV.Status.Phase, phase.Of(c.CSV.Status).Message, condition, want, message, ready)
		}
	}
	expectPhase(operatorsv1alpha1.CSVPhaseInstalling, "installing: waiting for "+waits, managerv1alpha1.ReasonVersionAwaited)
	if requeue := c.reconcile().Requeue.At; requeue.IsZero() {
		t.Error("the timeout is not requeued")
	}
	c.wait(c.Policy.InstallTimeout + time.Second)
	c.reconcile()
	expectPhase(operatorsv1alpha1.CSVPhaseFailed, "install timeout: waiting for "+waits, managerv1alpha1.ReasonVersionAwaited)
	c.Verdict.Awaited = nil
	c.reconcile()
	expectPhase(operatorsv1alpha1.CSVPhaseSucceeded, "install strategy completed with no errors", "AllWebhooksServe")
}
