package show

import (
	"fmt"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/output"
)

// Mermaid is the rollout as a flowchart, for Markdown.
func (s Summary) Mermaid(out output.Writer) {
	out.Printf("flowchart TD\n")
	s.graph(out, "  %s[%q]\n", "  %s([%q])\n", "  %s --> %s\n")
}

// Dot is the rollout for graphviz.
func (s Summary) Dot(out output.Writer) {
	out.Printf("digraph %q {\n", s.Name)
	s.graph(out, "  %s [label=%q, shape=box];\n", "  %s [label=%q, shape=ellipse];\n", "  %s -> %s;\n")
	out.Printf("}\n")
}

// graph walks the rollout: a Deployment leads to its webhooks, and those to the next one. The formats of a Deployment and
// of a webhook are for an id and a text, the format of an edge is for two ids.
func (s Summary) graph(out output.Writer, deployment, webhook, edge string) {
	var before []string
	for i, step := range s.Rollout {
		server := fmt.Sprintf("d%d", i)
		out.Printf(deployment, server, step.Deployment)
		for _, id := range before {
			out.Printf(edge, id, server)
		}
		before = nil
		for j, w := range step.Webhooks {
			id := fmt.Sprintf("w%d_%d", i, j)
			out.Printf(webhook, id, w)
			out.Printf(edge, server, id)
			before = append(before, id)
		}
		if len(before) == 0 {
			before = []string{server}
		}
	}
}
