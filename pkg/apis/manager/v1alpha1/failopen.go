package v1alpha1

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
)

// FailOpenState reports which requests pass while the backend of a webhook does not answer them.
// +kubebuilder:validation:Enum=Closed;Partly;All
type FailOpenState string

// The states of a webhook that an administrator lets open.
const (
	// FailOpenClosed: no request passes.
	FailOpenClosed FailOpenState = "Closed"
	// FailOpenPartly: requests of nodes, and about objects in the operator's namespace, pass.
	FailOpenPartly FailOpenState = "Partly"
	// FailOpenAll: all requests pass, or all about the resources that the administrator allows.
	FailOpenAll FailOpenState = "All"
)

// ClosedBy is why an opening ended.
// +kubebuilder:validation:Enum=Served;TimeOver;Withdrawn;Changed
type ClosedBy string

// The reasons why an opening ended.
const (
	// ClosedServed: the backend was proved to serve.
	ClosedServed ClosedBy = "Served"
	// ClosedTimeOver: the webhook was open as long as the administrator allows.
	ClosedTimeOver ClosedBy = "TimeOver"
	// ClosedWithdrawn: the administrator does not allow the opening any more.
	ClosedWithdrawn ClosedBy = "Withdrawn"
	// ClosedChanged: the webhook was changed or unregistered, another client closed it, or the opening had no record.
	ClosedChanged ClosedBy = "Changed"
)

// FailOpen reports when a webhook was open: API servers call it, and requests pass that it does not answer.
type FailOpen struct {
	// state reports which requests pass now. An opening is recorded here before the manager writes it into the
	// webhook configuration, and until it is removed from there.
	State FailOpenState `json:"state"`

	// unreachableSince is since when the backend has not been proved to serve. Absent while it serves.
	// +optional
	UnreachableSince *metav1.Time `json:"unreachableSince,omitempty"`

	// lastServedTime is when the backend was last proved to serve after it was unreachable.
	// +optional
	LastServedTime *metav1.Time `json:"lastServedTime,omitempty"`

	// openSeconds is how long all openings that have ended lasted.
	// +optional
	OpenSeconds int64 `json:"openSeconds,omitempty"`

	// openings are the last openings, the newest last. They stay after they have ended.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	Openings []Opening `json:"openings,omitempty"`
}

// KeptOpenings is the record of openings of a webhook that the version does not serve.
type KeptOpenings struct {
	// type is the type in the ClusterServiceVersion.
	Type operatorsv1alpha1.WebhookAdmissionType `json:"type"`

	// generateName is the generateName in the ClusterServiceVersion.
	GenerateName string `json:"generateName"`

	// failOpen is the last record.
	FailOpen FailOpen `json:"failOpen"`
}

// Opening is one interval in which a webhook was open.
type Opening struct {
	// from is when it began, or earlier by less than a second. If the opening had no record, it is the earliest
	// time at which it can have begun.
	From metav1.Time `json:"from"`

	// allFrom is when it was widened. Absent if it was not.
	// +optional
	AllFrom *metav1.Time `json:"allFrom,omitempty"`

	// until is when the last API server observed its end, or later by a few seconds: it includes the time of --settle.
	// While it lasts, until is when it ends at the latest.
	// +optional
	Until *metav1.Time `json:"until,omitempty"`

	// requests is the CEL expression that is true for the requests that pass before the opening is widened. It has
	// the variables of a matchCondition.
	// +optional
	Requests string `json:"requests,omitempty"`

	// allRequests is the CEL expression that is true for the requests that pass after the opening is widened. Absent if
	// it is not widened, or if all requests to the webhook pass.
	// +optional
	AllRequests string `json:"allRequests,omitempty"`

	// closedBy is why it ended. Absent while it lasts.
	// +optional
	ClosedBy ClosedBy `json:"closedBy,omitempty"`
}

// IsOpen reports whether an opening lasts.
func (f *FailOpen) IsOpen() bool {
	return f != nil && len(f.Openings) > 0 && f.Openings[len(f.Openings)-1].ClosedBy == ""
}

// OpenFor returns how long the webhook was open until now, over all its openings.
func (f *FailOpen) OpenFor(now time.Time) time.Duration {
	open := time.Duration(f.OpenSeconds) * time.Second
	if f.IsOpen() {
		open += max(0, now.Sub(f.Openings[len(f.Openings)-1].From.Time))
	}
	return open
}
