package failopen

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
)

// Closed returns the status of a version that is deleted and whose webhooks are closed: openings that it records as lasting
// end when the last API server observes that.
func Closed(status managerv1alpha1.WebhookRolloutStatus, observed time.Time) managerv1alpha1.WebhookRolloutStatus {
	ended := *status.DeepCopy()
	for i := range ended.Deployments {
		for j := range ended.Deployments[i].Webhooks {
			end(ended.Deployments[i].Webhooks[j].FailOpen, observed)
		}
	}
	for i := range ended.KeptOpenings {
		end(&ended.KeptOpenings[i].FailOpen, observed)
	}
	return ended
}

func end(record *managerv1alpha1.FailOpen, at time.Time) {
	if !record.IsOpen() {
		return
	}
	last := &record.Openings[len(record.Openings)-1]
	if last.Until != nil && last.Until.Time.Before(at) { // It ends at the latest then, however often this is repeated.
		at = last.Until.Time
	}
	until := metav1.NewTime(later(endOfSecond(at), last.From.Time))
	last.Until, last.ClosedBy = &until, managerv1alpha1.ClosedChanged
	record.State, record.OpenSeconds = managerv1alpha1.FailOpenClosed, record.OpenSeconds+secondsOf(*last)
}
