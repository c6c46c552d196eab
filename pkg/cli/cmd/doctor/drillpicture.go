package doctor

import (
	"strings"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor/drill"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/output"
)

// colours are those of the states.
var colours = map[drill.State]string{drill.Returns: "#c5e8c6", drill.PerhapsNever: "#ffe08a", drill.NeverReturns: "#f1aeb5"}

// printMermaid prints the picture as a flowchart, for Markdown.
func printMermaid(to output.Writer, p drill.Picture) {
	to.Printf("flowchart LR\n")
	for i, n := range p.Nodes {
		shape := "  n%d[%q]:::%s\n"
		if n.Webhook {
			shape = "  n%d([%q]):::%s\n"
		}
		to.Printf(shape, i, strings.Replace(n.Label, ": ", "<br/>", 1), n.State)
	}
	for _, e := range p.Edges {
		if e.Text == "" {
			to.Printf("  n%d --> n%d\n", e.From, e.To)
		} else {
			to.Printf("  n%d -->|%q| n%d\n", e.From, strings.ReplaceAll(e.Text, ", ", "<br/>"), e.To)
		}
	}
	for _, state := range []drill.State{drill.Returns, drill.PerhapsNever, drill.NeverReturns} {
		to.Printf("  classDef %s fill:%s,color:#000\n", state, colours[state])
	}
}

// printDot prints the picture for graphviz.
func printDot(to output.Writer, p drill.Picture) {
	to.Printf("digraph drill {\n  rankdir=LR;\n  node [style=filled];\n")
	for i, n := range p.Nodes {
		shape := "box"
		if n.Webhook {
			shape = "ellipse"
		}
		to.Printf("  n%d [label=%q, shape=%s, fillcolor=%q];\n", i, n.Label, shape, colours[n.State])
	}
	for _, e := range p.Edges {
		to.Printf("  n%d -> n%d [label=%q];\n", e.From, e.To, e.Text)
	}
	to.Printf("}\n")
}
