package report

import (
	"time"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
)

// NewRegistration is a webhook that was registered after a wait.
type NewRegistration struct {
	Type operatorsv1alpha1.WebhookAdmissionType
	Took time.Duration
}

// NewlyRegistered does not count webhooks that were unreachable for a while.
func NewlyRegistered(before, after managerv1alpha1.WebhookRolloutStatus, now time.Time) []NewRegistration {
	var all []NewRegistration
	known := ByIdentity(before)
	for _, d := range after.Deployments {
		for _, w := range d.Registrations() {
			old := known[csvspec.Identity{Type: w.Type, GenerateName: w.GenerateName}]
			if w.State != managerv1alpha1.WebhookRegistered || old == nil || old.State != managerv1alpha1.WebhookWaiting || old.LastTransitionTime == nil {
				continue
			}
			all = append(all, NewRegistration{Type: w.Type, Took: max(0, now.Sub(old.LastTransitionTime.Time))})
		}
	}
	return all
}

// ByIdentity returns the statuses of webhooks and APIServices. The first one of an identity wins.
func ByIdentity(status managerv1alpha1.WebhookRolloutStatus) map[csvspec.Identity]*managerv1alpha1.WebhookStatus {
	reported := map[csvspec.Identity]*managerv1alpha1.WebhookStatus{}
	for _, d := range status.Deployments {
		for _, w := range d.Registrations() {
			of := csvspec.Identity{Type: w.Type, GenerateName: w.GenerateName}
			if reported[of] == nil {
				reported[of] = &w
			}
		}
	}
	return reported
}
