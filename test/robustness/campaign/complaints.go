package campaign

import (
	"fmt"
	"slices"
	"strings"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/robustness/judge"
)

// shown is how many events are shown before a violation.
const shown = 40

// resembles reports whether two runs failed in the same way: they violate a common invariant, or both did not come to their ends.
func (r Result) resembles(other Result) bool {
	if r.Problem != "" && other.Problem != "" {
		return true
	}
	return slices.ContainsFunc(r.Violations, func(v judge.Violation) bool {
		return slices.ContainsFunc(other.Violations, func(w judge.Violation) bool { return v.Invariant == w.Invariant })
	})
}

// complaints returns in what a run differs from what is expected of it; empty for nothing. It shows the first violation of each
// invariant with the events before it.
func complaints(s Scenario, r Result) string {
	var text strings.Builder
	if r.Problem != "" {
		fmt.Fprintf(&text, "the run did not come to its end: %s\n%s", r.Problem, r.History.Text(r.History.Before(len(r.History.Events)-1, shown)))
	}
	violated := map[string]int{}
	for _, v := range r.Violations {
		if violated[v.Invariant]++; violated[v.Invariant] == 1 && !slices.Contains(s.Violates, v.Invariant) {
			fmt.Fprintf(&text, "%s\n%s", v, r.History.Text(r.History.Before(v.Event, shown)))
		}
	}
	for invariant, n := range violated {
		if n > 1 && !slices.Contains(s.Violates, invariant) {
			fmt.Fprintf(&text, "%d more violations of %s\n", n-1, invariant)
		}
	}
	for _, invariant := range s.Violates {
		if violated[invariant] == 0 {
			fmt.Fprintf(&text, "%s is not violated, and it should be\n", invariant)
		}
	}
	if text.Len() == 0 {
		return ""
	}
	return fmt.Sprintf("%s%s", s, &text)
}
