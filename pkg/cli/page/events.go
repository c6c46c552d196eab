package page

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
)

// Event is what the manager, or an OLM, reported of the ClusterServiceVersion.
type Event struct {
	Time    time.Time
	Warning bool
	Reason  string
	Message string
	Count   int32
}

// maxEvents is how many events of one ClusterServiceVersion are shown.
const maxEvents = 50

// eventsOf returns the latest events, the latest first.
func eventsOf(events []corev1.Event) []Event {
	all := lists.Map(events, func(e corev1.Event) Event {
		return Event{Time: timeOfEvent(e), Warning: e.Type == corev1.EventTypeWarning, Reason: e.Reason, Message: e.Message, Count: e.Count}
	})
	slices.SortStableFunc(all, func(a, b Event) int { return b.Time.Compare(a.Time) })
	return all[:min(len(all), maxEvents)]
}

// timeOfEvent is the last time: clients of both versions of the kind fill other fields.
func timeOfEvent(e corev1.Event) time.Time {
	last := e.EventTime.Time
	if e.Series != nil {
		last = e.Series.LastObservedTime.Time
	}
	if e.LastTimestamp.After(last) {
		last = e.LastTimestamp.Time
	}
	return last
}
