package report

import (
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
)

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
