package report

import (
	"fmt"
	"slices"
	"strings"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
)

func interceptionEvents(before *managerv1alpha1.WebhookStatus, w managerv1alpha1.WebhookStatus) []Event {
	var old managerv1alpha1.WebhookStatus
	if before != nil {
		old = *before
	}
	var events []Event
	if w.Intercepts != "" && w.Intercepts != old.Intercepts {
		message := fmt.Sprintf("webhook %s intercepts %s", w.GenerateName, w.Intercepts)
		if len(w.BeyondScope) > 0 {
			message += fmt.Sprintf("; %s are in no namespace: the OperatorGroup does not limit who is intercepted", strings.Join(w.BeyondScope, ", "))
		}
		events = append(events, Event{Warning: len(w.BeyondScope) > 0, Reason: managerv1alpha1.EventWebhookIntercepts, Message: shortened(message)})
	}
	if len(w.Exempt) > 0 && !slices.Equal(w.Exempt, old.Exempt) {
		events = append(events, Event{Reason: managerv1alpha1.EventSelfDeadlockPrevented, Message: shortened(fmt.Sprintf(
			"webhook %s could not become available again while no endpoint answers it: requests of the cluster's own components about %s pass it by",
			w.GenerateName, strings.Join(w.Exempt, ", ")))})
	}
	return events
}

// shortened cuts a message to the length of an event. The WebhookRollout has all of it.
func shortened(message string) string {
	const longest, rest = 1000, "... (the WebhookRollout reports it all)"
	if len(message) <= longest {
		return message
	}
	return strings.ToValidUTF8(message[:longest-len(rest)], "") + rest
}
