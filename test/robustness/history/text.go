package history

import (
	"fmt"
	"strings"
)

// Text returns some events, one for each line, with the time since the first event of the history.
func (h History) Text(events []Event) string {
	var text strings.Builder
	for _, e := range events {
		fmt.Fprintf(&text, "%10.3fs %s\n", e.At.Sub(h.Events[0].At).Seconds(), e)
	}
	return text.String()
}

// Before returns up to n events that end with one of them, as far as they explain it: without answered calls, Leases, Events and what
// API servers use. An event in a namespace is explained by events in it and by events without a namespace.
func (h History) Before(event, n int) []Event {
	var found []Event
	namespace := h.Events[event].namespace()
	for i := event; i >= 0 && len(found) < n; i-- {
		e := h.Events[i]
		if i == event || e.isNews() && (namespace == "" || e.namespace() == "" || e.namespace() == namespace) {
			found = append([]Event{e}, found...)
		}
	}
	return found
}

func (e Event) isNews() bool {
	switch {
	case e.View != nil:
		return false
	case e.Call != nil:
		return e.Call.Outcome == Failed
	case e.Write != nil:
		return e.Write.Object.Kind != "Lease" && e.Write.Object.Kind != "Event"
	default:
		return true
	}
}

// namespace returns the namespace of the object that the event is about; empty for none.
func (e Event) namespace() string {
	switch {
	case e.Write != nil:
		return e.Write.Object.Namespace
	case e.Read != nil:
		return e.Read.Object.Namespace
	case e.Serving != nil:
		return e.Serving.Pod.Namespace
	case e.Handshake != nil:
		return e.Handshake.Pod.Namespace
	case e.Call != nil:
		return e.Call.Service.Namespace
	default:
		return ""
	}
}

// String returns the event in one line, without contents of objects.
func (e Event) String() string {
	switch {
	case e.Write != nil:
		return fmt.Sprintf("%s: %s %s, revision %d", e.Write.Client, e.Write.Verb, e.Write.Object, e.Write.Revision)
	case e.Read != nil:
		return fmt.Sprintf("%s: read %s, live %t", e.Read.Client, e.Read.Object, e.Read.Live)
	case e.View != nil:
		return fmt.Sprintf("%s uses %s, revision %d", e.View.APIServer, e.View.Object, e.View.Revision)
	case e.Serving != nil:
		return fmt.Sprintf("%s serves a certificate: %t", e.Serving.Pod, e.Serving.Certificate != "")
	case e.Handshake != nil:
		return fmt.Sprintf("%s: handshake with %s", e.Handshake.Client, e.Handshake.Pod)
	case e.Call != nil:
		return fmt.Sprintf("%s calls %s of %s about %s: %s %s", e.Call.APIServer, e.Call.Webhook, e.Call.Registration, e.Call.About, e.Call.Outcome, e.Call.Error)
	case e.Message != nil:
		return fmt.Sprintf("%s: about %s: %s", e.Message.Client, e.Message.About, e.Message.Text)
	case e.Condition != nil && e.Condition.Begin:
		return fmt.Sprintf("begin of %s %s", e.Condition.Kind, e.Condition.ID)
	case e.Condition != nil:
		return fmt.Sprintf("end of %s %s", e.Condition.Kind, e.Condition.ID)
	default:
		return "nothing"
	}
}
