package rollout

import (
	"time"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install"
)

// Registration is a webhook that was waited for and came live.
type Registration struct {
	Type operatorsv1alpha1.WebhookAdmissionType
	Took time.Duration
}

// Registrations are those that came about between two statuses. A webhook that was live
// before, and was unreachable for a while, is not registered anew.
func Registrations(before, after managerv1alpha1.WebhookRolloutStatus, now time.Time) []Registration {
	var all []Registration
	known := reportedIn(before)
	for _, d := range after.Deployments {
		for _, w := range d.Registrations() {
			old := known[install.Identity{Type: w.Type, GenerateName: w.GenerateName}]
			if w.State != managerv1alpha1.WebhookRegistered || old == nil || old.State != managerv1alpha1.WebhookWaiting || old.Since == nil {
				continue
			}
			all = append(all, Registration{Type: w.Type, Took: max(0, now.Sub(old.Since.Time))})
		}
	}
	return all
}
