package csvstatus

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
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
		"one word without an end": {strings.Repeat("x", 500), command, strings.Repeat("x", 329) + " … To see all of it: " + command},
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

// Requirements that fit stay as they are; of more, the unmet ones come first, one that is
// larger than all of the status may be is left out, and the rest fits.
func TestRequirements(t *testing.T) {
	const present, missing = operatorsv1alpha1.RequirementStatusReasonPresent, operatorsv1alpha1.RequirementStatusReasonNotPresent
	requirement := func(i int, status operatorsv1alpha1.StatusReason) operatorsv1alpha1.RequirementStatus {
		return operatorsv1alpha1.RequirementStatus{Kind: "CustomResourceDefinition", Name: fmt.Sprint(i), Status: status, Message: strings.Repeat("m", 100)}
	}
	few := []operatorsv1alpha1.RequirementStatus{requirement(0, present), requirement(1, missing), requirement(2, present)}
	if kept := Requirements(few); !slices.EqualFunc(kept, few, func(a, b operatorsv1alpha1.RequirementStatus) bool { return a.Name == b.Name }) {
		t.Errorf("few: %v", kept)
	}

	var many []operatorsv1alpha1.RequirementStatus
	for i := range 5000 {
		many = append(many, requirement(i, present))
	}
	huge := requirement(5000, missing)
	huge.Dependents = []operatorsv1alpha1.DependentStatus{{Message: strings.Repeat("m", maxRequirements)}}
	kept := Requirements(append(many, huge, requirement(5001, missing)))
	if kept[0].Name != "5001" || kept[1].Name != "0" || slices.ContainsFunc(kept, func(r operatorsv1alpha1.RequirementStatus) bool { return r.Name == huge.Name }) {
		t.Errorf("many: begin with %s and %s", kept[0].Name, kept[1].Name)
	}
	size := 0
	for _, r := range kept {
		size += sizeOf(r)
	}
	if size > maxRequirements || size < maxRequirements/2 {
		t.Errorf("many: %d bytes in %d results", size, len(kept))
	}
}
