package doctor

import (
	"cmp"
	"slices"
	"strings"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor/drill"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/output"
)

// fewNames is how many workloads a line names.
const fewNames = 10

func printDrill(to output.Writer, p drill.Prediction) {
	to.Printf("All pods are lost. The API server and etcd run. The controller manager, the scheduler and the kubelets start again.\n\n")
	for _, assumed := range p.Assumptions {
		to.Printf("Assumed: %s\n", assumed)
	}
	for _, wave := range p.Waves {
		printWave(to, wave)
	}
	for _, s := range p.Never {
		printStuck(to, s, neverText[s.Certain])
	}
	for i, c := range p.Cycles {
		to.Printf("\nCYCLE %d: %s\n", i+1, certainty(c.Certain, "these parts keep each other from returning", "these parts perhaps keep each other from returning"))
		for _, s := range c.Parts {
			printWaits(to, "  ", s)
		}
		printSolution(to, c.Solution)
	}
	for i, e := range p.DeadEnds {
		to.Printf("\nDEAD END %d: %s\n  %s: %s\n", i+1, e.Webhook, e.Part, e.Because)
		to.Printf("  %s for it: %s\n", waiting(len(e.Waiting)), named(e.Waiting))
		printSolution(to, e.Solution)
	}
	printTotal(to, p)
}

var neverText = map[bool]string{true: "never", false: "perhaps never"}

func certainty(certain bool, yes, no string) string {
	if certain {
		return yes
	}
	return no
}

func waiting(n int) string {
	if n == 1 {
		return "1 part waits"
	}
	return output.Counted(n, "part") + " wait"
}

func printWave(to output.Writer, wave drill.Wave) {
	workloads := lists.Filter(wave.Parts, drill.Part.IsWorkload)
	cause := "after webhooks of the previous wave"
	if wave.Number == 1 {
		cause = "without a webhook of the cluster"
	}
	to.Printf("wave %d, %s: %s\n", wave.Number, cause, output.Counted(len(workloads), "workload"))
	slices.SortStableFunc(workloads, func(a, b drill.Part) int { return cmp.Compare(rank(a), rank(b)) })
	if len(workloads) > 0 {
		to.Printf("  %s\n", named(workloads))
	}
}

// rank sorts the components of the cluster first.
func rank(p drill.Part) int {
	if p.Role == "" {
		return 1
	}
	return 0
}

func named(parts []drill.Part) string {
	few := lists.Map(parts[:min(len(parts), fewNames)], func(p drill.Part) string {
		if p.Role == "" {
			return p.String()
		}
		return p.String() + " (" + string(p.Role) + ")"
	})
	text := strings.Join(few, ", ")
	if more := len(parts) - fewNames; more > 0 {
		text += " and " + output.Counted(more, "other")
	}
	return text
}

// printStuck prints what people look for: workloads, Nodes and the control plane.
func printStuck(to output.Writer, s drill.Stuck, state string) {
	if s.IsWorkload() || s.Kind == drill.ControlPlane || s.Kind == "Node" {
		to.Printf("%s: ", state)
		printWaits(to, "", s)
	}
}

// printWaits prints a part and what it waits for. The indentation is part of formats.
func printWaits(to output.Writer, indent string, s drill.Stuck) {
	to.Printf(indent+"%s\n", named([]drill.Part{s.Part}))
	var last string
	for _, w := range s.Waits {
		text := w.Because
		if w.Request != "" {
			text = w.Request + " by " + w.User + " needs"
		} else if len(w.For) > 0 {
			text += ": waits for"
		}
		if len(w.For) > 0 {
			text += " " + named(w.For)
		}
		if text != last {
			to.Printf(indent+"  %s\n", text)
		}
		last = text
	}
}

func printSolution(to output.Writer, s drill.Solution) {
	if len(s.Changes) == 0 {
		to.Printf("  No change of a webhook is enough.\n")
		return
	}
	title := "Smallest set of changes"
	if !s.Smallest {
		title = "A set of changes of which all are needed"
	}
	to.Printf("  %s:\n", title)
	for _, c := range s.Changes {
		to.Printf("  - %s: %s\n    %s\n", c.Webhook, c.What, c.Where)
		if c.Command != "" {
			to.Printf("    %s\n", c.Command)
		}
	}
	for _, set := range s.Alternatives {
		to.Printf("  or: %s\n", strings.Join(lists.Map(set, func(c drill.Change) string { return c.Webhook.String() + ": " + c.What }), "; "))
	}
}

func printTotal(to output.Writer, p drill.Prediction) {
	count := map[bool]int{}
	for _, s := range p.Never {
		if s.IsWorkload() {
			count[s.Certain]++
		}
	}
	returning := 0
	for _, wave := range p.Waves {
		returning += len(lists.Filter(wave.Parts, drill.Part.IsWorkload))
	}
	to.Printf("\n%s: %d return, %d never, %d perhaps not; %s, %s\n", output.Counted(returning+count[true], "workload"),
		returning-count[false], count[true], count[false], output.Counted(len(p.Cycles), "cycle"), output.Counted(len(p.DeadEnds), "dead end"))
}
