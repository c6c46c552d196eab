package show

import (
	"fmt"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/output"
)

// Mermaid is the rollout as a flowchart, for Markdown.
func (s Summary) Mermaid(out output.Writer) {
	out.Printf("flowchart TD\n")
	s.graph(func(id, text string, deployment bool) {
		shape := "([%q])"
		if deployment {
			shape = "[%q]"
		}
		out.Printf("  %s"+shape+"\n", id, text)
	}, func(from, to string) { out.Printf("  %s --> %s\n", from, to) })
}

// Dot is the rollout for graphviz.
func (s Summary) Dot(out output.Writer) {
	out.Printf("digraph %q {\n", s.Name)
	s.graph(func(id, text string, deployment bool) {
		shape := "ellipse"
		if deployment {
			shape = "box"
		}
		out.Printf("  %s [label=%q, shape=%s];\n", id, text, shape)
	}, func(from, to string) { out.Printf("  %s -> %s;\n", from, to) })
	out.Printf("}\n")
}

// graph walks the rollout: a Deployment leads to its webhooks, and those to the next one.
func (s Summary) graph(node func(id, text string, deployment bool), edge func(from, to string)) {
	var before []string
	for i, step := range s.Rollout {
		deployment := fmt.Sprintf("d%d", i)
		node(deployment, step.Deployment, true)
		for _, id := range before {
			edge(id, deployment)
		}
		before = nil
		for j, w := range step.Webhooks {
			id := fmt.Sprintf("w%d_%d", i, j)
			node(id, w, false)
			edge(deployment, id)
			before = append(before, id)
		}
		if len(before) == 0 {
			before = []string{deployment}
		}
	}
}
