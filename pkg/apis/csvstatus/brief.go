package csvstatus

import (
	"strings"
	"unicode/utf8"
)

const (
	// MaxMessage limits the bytes of a condition's message if a WebhookRollout has the details.
	MaxMessage = 400
	// MaxAlone limits them otherwise.
	MaxAlone = 1024
	// MaxCondition is how many bytes the API server accepts in a metav1.Condition.
	MaxCondition = 32768
)

// Brief returns a message within the limit. A shortened one ends with details, the command that shows all of it.
func Brief(message, details string) string {
	if details == "" {
		return Shorten(message, MaxAlone, "")
	}
	end := " To see all of it: " + details
	if len(end) > MaxMessage/2 {
		end = " The WebhookRollout of the same name has all of it."
	}
	return Shorten(message, MaxMessage, end)
}

// Shorten cuts a message of more than limit bytes between two of its parts, and appends end.
func Shorten(message string, limit int, end string) string {
	if len(message) <= limit {
		return message
	}
	end = " …" + end
	head := message[:limit-len(end)]
	for !utf8.ValidString(head) && len(head) > 0 && !utf8.RuneStart(message[len(head)]) {
		head = head[:len(head)-1]
	}
	return head[:partsEnd(head)] + end
}

// partsEnd is where the last whole clause of a text ends, or word, if clauses leave less than half of it.
func partsEnd(text string) int {
	for _, separator := range []string{"; ", ": ", ", ", " "} {
		if end := strings.LastIndex(text, separator); end >= len(text)/2 {
			return end + len(strings.TrimSpace(separator))
		}
	}
	return len(text)
}
