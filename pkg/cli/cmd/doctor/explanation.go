package doctor

import (
	"strings"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor/explain"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/output"
)

// printExplanation prints the steps in their order. Steps that do not see the request are counted only, unless all is set.
func printExplanation(to output.Writer, e explain.Explanation, all bool) {
	object := strings.TrimPrefix(e.Namespace+"/"+e.Name, "/")
	to.Printf("%s of %s (%s) %s by %s, groups %s\n\n", e.Operation, e.Resource, e.Version, object, e.User.Name, strings.Join(e.User.Groups, ", "))
	number := 0
	for _, s := range e.Steps {
		if s.Verdict == explain.Skipped && !all {
			continue
		}
		number++
		to.Printf("%d. %s %s: %s\n", number, s.Kind, titleOf(s), verdictText[s.Verdict])
		if s.Reason != "" {
			to.Printf("   %s\n", s.Reason)
		}
		if s.Version != "" && s.Version != e.Version {
			to.Printf("   matchPolicy Equivalent: it gets the object in version %s\n", s.Version)
		}
		if s.Verdict == explain.Sees || s.Verdict == explain.Unknown {
			to.Printf("   %s\n", s.OnFailure)
			if s.ReinvocationPolicy != "" {
				to.Printf("   reinvocationPolicy %s: it can run again after a later step has changed the object\n", s.ReinvocationPolicy)
			}
		}
	}
	if c := e.Conversion; c != nil {
		to.Printf("Conversion webhook of CustomResourceDefinition %s: the API server calls it\n   %s\n   %s\n", c.Definition, c.Reason, c.OnFailure)
	}
	to.Printf("%s the request, %d do not, %d unknown, %d not reached", counted(e.Count(explain.Sees)), e.Count(explain.Skipped), e.Count(explain.Unknown), e.Count(explain.NotReached))
	if !all && e.Count(explain.Skipped) > 0 {
		to.Printf("; --all shows the reasons")
	}
	to.Printf("\n")
	if e.Refused() {
		to.Printf("the API server refuses the request at the step that is marked as refused\n")
	}
}

var verdictText = map[explain.Verdict]string{
	explain.Sees: "sees the request", explain.Skipped: "does not see the request", explain.Refuses: "the request is refused",
	explain.Unknown: "unknown", explain.NotReached: "not reached",
}

func counted(n int) string {
	if n == 1 {
		return "1 step sees"
	}
	return output.Counted(n, "step") + " see"
}

func titleOf(s explain.Step) string {
	title := s.Object
	if s.Name != "" {
		title += ", webhook " + s.Name
	}
	if s.Binding != "" {
		title += ", binding " + s.Binding
	}
	if s.Param != "" {
		title += ", parameter " + s.Param
	}
	return title
}
