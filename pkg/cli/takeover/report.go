package takeover

import (
	"slices"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
)

// Form is the form of the objects of a CSV, as the manager reports it.
type Form = managerv1alpha1.TakeoverForm

// The forms that the commands wait for.
const (
	FormAdopted   = managerv1alpha1.TakeoverAdopted
	FormConverged = managerv1alpha1.TakeoverConverged
	FormGivenBack = managerv1alpha1.TakeoverGivenBack

	formConverging = managerv1alpha1.TakeoverConverging
	formGivingBack = managerv1alpha1.TakeoverGivingBack
)

// Report is status.takeover of a WebhookRollout. It is the zero value if the WebhookRollout does not have it.
type Report struct {
	Form Form
	// Left are the Deployments that are not converged, or not given back, yet.
	Left    []string
	Message string
}

// ReportOf reads status.takeover of a WebhookRollout.
func ReportOf(status *managerv1alpha1.TakeoverStatus) Report {
	if status == nil {
		return Report{}
	}
	return Report{Form: status.Form, Left: slices.Clone(status.Deployments), Message: status.Message}
}
