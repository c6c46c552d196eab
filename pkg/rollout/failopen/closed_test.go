package failopen

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func TestClosed(t *testing.T) {
	at := func(minutes int) metav1.Time { return metav1.NewTime(noon.Add(time.Duration(minutes) * time.Minute)) }
	planned, first := at(60), at(5)
	record := func(o ...managerv1alpha1.Opening) managerv1alpha1.FailOpen {
		return managerv1alpha1.FailOpen{State: partly, OpenSeconds: 300, Openings: o}
	}
	ended := managerv1alpha1.Opening{From: at(0), Until: &first, ClosedBy: managerv1alpha1.ClosedServed}
	lasting := managerv1alpha1.Opening{From: at(10), Until: &planned}
	status := func(r managerv1alpha1.FailOpen) managerv1alpha1.WebhookRolloutStatus {
		return managerv1alpha1.WebhookRolloutStatus{
			Deployments:  []managerv1alpha1.DeploymentStatus{{Webhooks: []managerv1alpha1.WebhookStatus{{FailOpen: r.DeepCopy()}, {}}}},
			KeptOpenings: []managerv1alpha1.KeptOpenings{{FailOpen: *r.DeepCopy()}},
		}
	}
	until := metav1.NewTime(noon.Add(20*time.Minute + time.Second))
	closedNow := record(ended, managerv1alpha1.Opening{From: at(10), Until: &until, ClosedBy: managerv1alpha1.ClosedChanged})
	closedNow.State, closedNow.OpenSeconds = closed, 300+601
	before := status(record(ended, lasting))
	installtest.Same(t, "an opening that lasts", status(closedNow), Closed(before, noon.Add(20*time.Minute)))
	installtest.Same(t, "the given status", status(record(ended, lasting)), before)
	installtest.Same(t, "an opening that has ended", status(record(ended)), Closed(status(record(ended)), noon.Add(20*time.Minute)))
}
