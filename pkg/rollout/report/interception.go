package report

import (
	"fmt"
	"slices"
	"strings"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
)

// interceptionEvents tell people which of their requests a webhook sees, when it comes
// and when that changes, and which of the cluster's own pass it by.
func interceptionEvents(before *managerv1alpha1.WebhookStatus, w managerv1alpha1.WebhookStatus) []Event {
	var old managerv1alpha1.WebhookStatus
	if before != nil {
		old = *before
	}
	var events []Event
	if w.Intercepts != "" && w.Intercepts != old.Intercepts {
		message := fmt.Sprintf("webhook %s intercepts %s", w.GenerateName, w.Intercepts)
		if len(w.BeyondScope) > 0 {
			message += fmt.Sprintf("; %s live in no namespace: the OperatorGroup does not limit who is intercepted", strings.Join(w.BeyondScope, ", "))
		}
		events = append(events, Event{Warning: len(w.BeyondScope) > 0, Reason: "WebhookIntercepts", Message: shortened(message)})
	}
	if len(w.Exempt) > 0 && !slices.Equal(w.Exempt, old.Exempt) {
		events = append(events, Event{Reason: "SelfDeadlockPrevented", Message: shortened(fmt.Sprintf(
			"webhook %s could not become available again while no endpoint answers it: requests of the cluster's own components about %s pass it by",
			w.GenerateName, strings.Join(w.Exempt, ", ")))})
	}
	return events
}

// shortened is a message that fits into an event; the WebhookRollout has the whole.
func shortened(message string) string {
	const longest, rest = 1000, "... (the WebhookRollout says it all)"
	if len(message) <= longest {
		return message
	}
	return strings.ToValidUTF8(message[:longest-len(rest)], "") + rest
}
