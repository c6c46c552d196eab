package csvstatus

import (
	"strings"
	"unicode/utf8"
)

const (
	// MaxMessage is how many bytes the message of a ClusterServiceVersion's condition has at
	// most, if a WebhookRollout has the details.
	MaxMessage = 400
	// MaxAlone is how many bytes it has at most otherwise.
	MaxAlone = 1024
	// MaxCondition is how many bytes the API server accepts in a metav1.Condition.
	MaxCondition = 32768
)

// Brief returns the beginning of a message, and where the rest of it is: details is a command
// that shows it, or empty. A message within the limit is returned as it is.
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

// Shorten returns a message of at most limit bytes. One that is longer is cut between two of its
// parts, and end is appended.
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

// partsEnd is where the last whole part of a text ends. A part is a clause, or if that leaves
// less than half of the text, a word.
func partsEnd(text string) int {
	for _, separator := range []string{"; ", ": ", ", ", " "} {
		if end := strings.LastIndex(text, separator); end >= len(text)/2 {
			return end + len(strings.TrimSpace(separator))
		}
	}
	return len(text)
}
