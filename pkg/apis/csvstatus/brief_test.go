package csvstatus

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestBrief(t *testing.T) {
	const command = "kubectl -n shop describe webhookrollouts shop.v1"
	long := strings.Repeat("x", 100)
	for name, test := range map[string]struct{ message, details, want string }{
		"short": {"install timeout: waiting for a pod", command, "install timeout: waiting for a pod"},
		"several causes": {
			"install strategy failed: " + strings.Repeat("a cause; ", 60), command,
			"install strategy failed: " + strings.Repeat("a cause; ", 32) + "a cause; … To see all of it: " + command,
		},
		"one word without an end": {
			strings.Repeat("x", 500), command, strings.Repeat("x", 329) + " … To see all of it: " + command,
		},
		"names that are too long for a command": {
			strings.Repeat("word ", 100), "kubectl describe webhookrollouts " + long + long,
			strings.TrimSpace(strings.Repeat("word ", 69)) + " … The WebhookRollout of the same name has all of it.",
		},
		"no WebhookRollout": {strings.Repeat("word ", 300), "", strings.TrimSpace(strings.Repeat("word ", 204)) + " …"},
	} {
		got := Brief(test.message, test.details)
		if got != test.want {
			t.Errorf("%s: %q\nwant %q", name, got, test.want)
		}
		if limit := map[bool]int{true: MaxAlone, false: MaxMessage}[test.details == ""]; len(got) > limit {
			t.Errorf("%s: %d bytes, more than %d", name, len(got), limit)
		}
		if again := Brief(got, test.details); again != got {
			t.Errorf("%s: what is brief is cut again: %q", name, again)
		}
	}
}

// OLM v0's words are in front, and never cut; nor is a character.
func TestBriefKeepsWords(t *testing.T) {
	for length := range 500 {
		message := "one or more requirements couldn't be found: " + strings.Repeat("ä", length)
		got := Brief(message, "kubectl describe webhookrollouts a")
		if Words(got) != "one or more requirements couldn't be found" {
			t.Fatalf("%q", got)
		}
		if !utf8.ValidString(got) {
			t.Fatalf("%d: a character is cut: %q", length, got)
		}
	}
}
