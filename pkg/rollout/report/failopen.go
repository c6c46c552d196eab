package report

import (
	"fmt"
	"time"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
)

// failOpenEvents reports that a webhook was opened, widened or closed.
func failOpenEvents(before *managerv1alpha1.WebhookStatus, w managerv1alpha1.WebhookStatus) (events []Event) {
	if w.FailOpen == nil {
		return nil
	}
	var known []managerv1alpha1.Opening
	if before != nil && before.FailOpen != nil {
		known = before.FailOpen.Openings
	}
	for _, now := range w.FailOpen.Openings {
		events = append(events, openingEvents(w, openingFrom(known, now), now)...)
	}
	return events
}

func openingFrom(known []managerv1alpha1.Opening, from managerv1alpha1.Opening) *managerv1alpha1.Opening {
	for i := range known {
		if known[i].From.Equal(&from.From) {
			return &known[i]
		}
	}
	return nil
}

func openingEvents(w managerv1alpha1.WebhookStatus, old *managerv1alpha1.Opening, now managerv1alpha1.Opening) (events []Event) {
	title := managerv1alpha1.Title(w.Type, w.GenerateName)
	wasAll, wasClosed := old != nil && old.AllFrom != nil, old != nil && old.ClosedBy != ""
	switch {
	case now.ClosedBy != "":
	case now.AllFrom != nil && !wasAll:
		events = append(events, Event{Warning: true, Reason: managerv1alpha1.EventWebhookOpened, Message: fmt.Sprintf(
			"no endpoint of %s is ready (unreachableSince %s): as the administrator allows, all requests pass that it does not answer, until %s at the latest", title, since(w), at(now))})
	case old == nil:
		events = append(events, Event{Warning: true, Reason: managerv1alpha1.EventWebhookOpened, Message: fmt.Sprintf(
			"no endpoint of %s is ready (unreachableSince %s): as the administrator allows, requests of nodes, and about objects in the operator's namespace, pass that it does not answer, until %s at the latest", title, since(w), at(now))})
	}
	if now.ClosedBy != "" && !wasClosed {
		events = append(events, Event{Warning: now.ClosedBy != managerv1alpha1.ClosedServed, Reason: managerv1alpha1.EventWebhookClosed, Message: fmt.Sprintf(
			"%s is closed, because %s. It was open from %s. To list the objects that were admitted meanwhile: kubectl webhooks audit", title, closedBecause[now.ClosedBy], now.From.UTC().Format(time.RFC3339))})
	}
	return events
}

var closedBecause = map[managerv1alpha1.ClosedBy]string{
	managerv1alpha1.ClosedServed:    "its endpoints serve",
	managerv1alpha1.ClosedTimeOver:  "it was open as long as the administrator allows. It does not open again before its endpoints have served",
	managerv1alpha1.ClosedWithdrawn: "the administrator does not allow it any more, or the ClusterServiceVersion cannot be installed",
	managerv1alpha1.ClosedChanged:   "it was changed or unregistered, or its opening had no record",
}

func since(w managerv1alpha1.WebhookStatus) string {
	if w.FailOpen.UnreachableSince == nil {
		return "an unknown time"
	}
	return w.FailOpen.UnreachableSince.UTC().Format(time.RFC3339)
}

func at(o managerv1alpha1.Opening) string {
	if o.Until == nil {
		return "an unknown time"
	}
	return o.Until.UTC().Format(time.RFC3339)
}
