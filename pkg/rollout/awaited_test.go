package rollout

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/phase"
)

// An installation whose versions are promised is rolled out, says that it waits for them
// when its webhooks serve, and succeeds when they are served; not within the time for it, it
// has failed, and succeeds all the same when they are at last.
func TestAwaitedVersions(t *testing.T) {
	c := clusterWith(t, webhookOf("server"))
	c.Verdict.Awaited = []string{"things.example.com/v2"}
	c.pass()
	for range 4 {
		c.goesOn("server")
	}
	const waits = "things.example.com/v2 to be served: its webhook converts, and whoever installs it adds the version now (bundle upgrade does; interrupted, run it again)"
	says := func(want operatorsv1alpha1.ClusterServiceVersionPhase, message, ready string) {
		t.Helper()
		condition := meta.FindStatusCondition(c.Previous.Conditions, managerv1alpha1.ConditionReady)
		if c.CSV.Status.Phase != want || phase.Of(c.CSV.Status).Message != message || condition.Reason != ready {
			t.Errorf("it is %s: %s; ready is %+v; want %s: %s, %s", c.CSV.Status.Phase, phase.Of(c.CSV.Status).Message, condition, want, message, ready)
		}
	}
	says(operatorsv1alpha1.CSVPhaseInstalling, "installing: waiting for "+waits, managerv1alpha1.ReasonVersionAwaited)
	if look := c.pass().Requeue.At; look.IsZero() {
		t.Error("nobody looks whether it takes too long")
	}
	c.wait(c.Policy.InstallTimeout + time.Second)
	c.pass()
	says(operatorsv1alpha1.CSVPhaseFailed, "install timeout: waiting for "+waits, managerv1alpha1.ReasonVersionAwaited)
	c.Verdict.Awaited = nil
	c.pass()
	says(operatorsv1alpha1.CSVPhaseSucceeded, "install strategy completed with no errors", "AllWebhooksServe")
}
