package takeover

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Form is the form of the objects of a CSV, as the manager reports it in status.takeover.form of the WebhookRollout.
type Form string

// The forms that the commands wait for.
const (
	FormAdopted   Form = "Adopted"
	FormConverged Form = "Converged"
	FormGivenBack Form = "GivenBack"
)

// Report is status.takeover of a WebhookRollout. It is the zero value if the WebhookRollout does not have it.
type Report struct {
	Form Form
	// Left are the Deployments that are not converged, or not given back, yet.
	Left    []string
	Message string
}

// ReportOf reads status.takeover of a WebhookRollout.
func ReportOf(rollout map[string]any) Report {
	form, _, _ := unstructured.NestedString(rollout, "status", "takeover", "form")
	message, _, _ := unstructured.NestedString(rollout, "status", "takeover", "message")
	left, _, _ := unstructured.NestedStringSlice(rollout, "status", "takeover", "deployments")
	return Report{Form: Form(form), Left: slices.Clone(left), Message: message}
}
