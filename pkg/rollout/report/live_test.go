package report

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func TestRegistrations(t *testing.T) {
	began := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	now := began.Add(90 * time.Second)
	status := func(state managerv1alpha1.WebhookState, since time.Time) managerv1alpha1.WebhookRolloutStatus {
		w := managerv1alpha1.WebhookStatus{Type: operatorsv1alpha1.MutatingAdmissionWebhook, GenerateName: "m.example.com", State: state}
		if !since.IsZero() {
			w.LastTransitionTime = &metav1.Time{Time: since}
		}
		return managerv1alpha1.WebhookRolloutStatus{Deployments: []managerv1alpha1.DeploymentStatus{{Name: "manager", Webhooks: []managerv1alpha1.WebhookStatus{w}}}}
	}
	took := func(d time.Duration) []NewRegistration {
		return []NewRegistration{{operatorsv1alpha1.MutatingAdmissionWebhook, d}}
	}
	none, live := managerv1alpha1.WebhookRolloutStatus{}, status(managerv1alpha1.WebhookRegistered, now)
	for name, test := range map[string]struct {
		before, after managerv1alpha1.WebhookRolloutStatus
		want          []NewRegistration
	}{
		"waited for, and live":            {status(managerv1alpha1.WebhookWaiting, began), live, took(90 * time.Second)},
		"waits still":                     {status(managerv1alpha1.WebhookWaiting, began), status(managerv1alpha1.WebhookWaiting, began), nil},
		"was live":                        {live, live, nil},
		"is reachable again":              {status(managerv1alpha1.WebhookUnreachable, began), live, nil},
		"unknown since when":              {status(managerv1alpha1.WebhookWaiting, time.Time{}), live, nil},
		"was never observed waiting":      {none, live, nil},
		"a clock behind the previous one": {status(managerv1alpha1.WebhookWaiting, now.Add(time.Second)), live, took(0)},
	} {
		t.Run(name, func(t *testing.T) {
			installtest.Same(t, "registrations", test.want, NewlyRegistered(test.before, test.after, now))
		})
	}
}
