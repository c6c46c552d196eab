package records

import (
	"crypto/sha256"
	"encoding/json"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
)

// The functions below return the status that the manager writes as a field of FieldContests. Times
// of writes and transitions are left out. To write the same status a second time is a repair: another
// client, such as an OLM v0, has changed it.

// CSVStatusFields leaves out the history of phases, too.
func CSVStatusFields(status operatorsv1alpha1.ClusterServiceVersionStatus) map[string]string {
	status.LastUpdateTime, status.LastTransitionTime, status.Conditions = nil, nil, nil
	return statusField(status)
}

// RolloutStatusFields returns the status of a WebhookRollout.
func RolloutStatusFields(status managerv1alpha1.WebhookRolloutStatus) map[string]string {
	status.Conditions = withoutTimes(status.Conditions)
	return statusField(status)
}

// GroupStatusFields returns the status of an OperatorGroup.
func GroupStatusFields(status operatorsv1.OperatorGroupStatus) map[string]string {
	status.LastUpdated, status.Conditions = nil, withoutTimes(status.Conditions)
	return statusField(status)
}

func withoutTimes(conditions []metav1.Condition) []metav1.Condition {
	conditions = slices.Clone(conditions)
	for i := range conditions {
		conditions[i].LastTransitionTime = metav1.Time{}
	}
	return conditions
}

func statusField(status any) map[string]string {
	text, err := json.Marshal(status)
	if err != nil {
		return nil
	}
	sum := sha256.Sum256(text)
	return map[string]string{"status": string(sum[:])}
}
