package report

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func TestFailOpenEvents(t *testing.T) {
	noon := metav1.NewTime(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	later := metav1.NewTime(noon.Add(time.Hour))
	opening := func(change func(*managerv1alpha1.Opening)) managerv1alpha1.WebhookRolloutStatus {
		o := managerv1alpha1.Opening{From: noon, Until: &later}
		change(&o)
		return managerv1alpha1.WebhookRolloutStatus{Deployments: []managerv1alpha1.DeploymentStatus{{Webhooks: []managerv1alpha1.WebhookStatus{{
			Type: operatorsv1alpha1.ValidatingAdmissionWebhook, GenerateName: "v.example.com", State: managerv1alpha1.WebhookUnreachable,
			FailOpen: &managerv1alpha1.FailOpen{UnreachableSince: &noon, Openings: []managerv1alpha1.Opening{o}},
		}}}}}
	}
	none := opening(func(*managerv1alpha1.Opening) {})
	none.Deployments[0].Webhooks[0].FailOpen = nil
	partly := opening(func(*managerv1alpha1.Opening) {})
	all := opening(func(o *managerv1alpha1.Opening) { o.AllFrom = &noon })
	served := opening(func(o *managerv1alpha1.Opening) { o.AllFrom, o.ClosedBy = &noon, managerv1alpha1.ClosedServed })
	over := opening(func(o *managerv1alpha1.Opening) { o.ClosedBy = managerv1alpha1.ClosedTimeOver })
	for name, test := range map[string]struct {
		before, after managerv1alpha1.WebhookRolloutStatus
		events        []string
	}{
		"opened":      {none, partly, []string{"Warning WebhookOpened"}},
		"for all":     {none, all, []string{"Warning WebhookOpened"}},
		"the same":    {partly, partly, nil},
		"widened":     {partly, all, []string{"Warning WebhookOpened"}},
		"it serves":   {all, served, []string{"WebhookClosed"}},
		"time over":   {partly, over, []string{"Warning WebhookClosed"}},
		"long closed": {served, served, nil},
	} {
		var got []string
		for _, e := range EventsOf(test.before, test.after) {
			text := e.Reason
			if e.Warning {
				text = "Warning " + text
			}
			got = append(got, text)
		}
		installtest.Same(t, name, test.events, got)
	}
}
