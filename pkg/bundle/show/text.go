package show

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Print writes the summary for people.
func (s Summary) Print(out io.Writer) {
	fmt.Fprintf(out, "%s, %s %s (%s)\n", s.Name, cmp.Or(s.DisplayName, s.Package), s.Version, s.Source)
	fmt.Fprintf(out, "can watch: %s\n", strings.Join(s.InstallModes, ", "))
	if s.Replaces != "" {
		fmt.Fprintf(out, "replaces: %s\n", s.Replaces)
	}
	s.PrintWebhooks(out)
	s.printRollout(out)
	s.printDefinitions(out)
	s.printPermissions(out)
}

// PrintWebhooks writes the table of webhooks: the part of the summary that an administrator
// has to agree with.
func (s Summary) PrintWebhooks(out io.Writer) {
	if len(s.Webhooks) == 0 {
		fmt.Fprint(out, "\nWebhooks: none\n")
		return
	}
	fmt.Fprint(out, "\nWebhooks\n")
	table(out, "TYPE\tINTERCEPTS\tWHERE\tON FAILURE\tTIMEOUT\tNAME", func(row func(...any)) {
		for _, w := range s.Webhooks {
			timeout := ""
			if w.TimeoutSeconds > 0 {
				timeout = fmt.Sprintf("%ds", w.TimeoutSeconds)
			}
			row(w.Type, strings.Join(w.Intercepts, "; "), w.Where, w.OnFailure, timeout, w.Name)
		}
	})
}

func (s Summary) printRollout(out io.Writer) {
	fmt.Fprint(out, "\nRollout\n")
	for i, step := range s.Rollout {
		fmt.Fprintf(out, "  %d. %s, %s\n", i+1, step.Deployment, replicas(step.Replicas))
		for j, w := range step.Webhooks {
			branch := "├─"
			if j == len(step.Webhooks)-1 {
				branch = "└─"
			}
			fmt.Fprintf(out, "     %s serves, then goes live: %s\n", branch, w)
		}
		if i < len(s.Rollout)-1 {
			fmt.Fprint(out, "  ↓\n")
		}
	}
}

func replicas(n int32) string {
	if n == 1 {
		return "1 replica"
	}
	return fmt.Sprintf("%d replicas", n)
}

func (s Summary) printDefinitions(out io.Writer) {
	if len(s.Definitions) == 0 {
		return
	}
	fmt.Fprint(out, "\nDefinitions\n")
	table(out, "NAME\tKIND\tSCOPE\tVERSIONS", func(row func(...any)) {
		for _, d := range s.Definitions {
			row(d.Name, d.Kind, d.Scope, strings.Join(d.Versions, ", "))
		}
	})
}

func (s Summary) printPermissions(out io.Writer) {
	if len(s.Permissions) == 0 {
		return
	}
	fmt.Fprint(out, "\nPermissions\n")
	table(out, "ACCOUNT\tIN\tMAY\tON", func(row func(...any)) {
		for _, p := range s.Permissions {
			row(p.Account, p.Where, p.Verbs, p.On)
		}
	})
}

func table(out io.Writer, header string, rows func(row func(...any))) {
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(w, "  "+header)
	rows(func(cells ...any) {
		texts := make([]string, len(cells))
		for i, cell := range cells {
			texts[i] = fmt.Sprint(cell)
		}
		fmt.Fprintln(w, "  "+strings.Join(texts, "\t"))
	})
	w.Flush()
}

// Mermaid is the rollout as a flowchart, for Markdown.
func (s Summary) Mermaid(out io.Writer) {
	fmt.Fprintln(out, "flowchart TD")
	s.graph(func(id, text string, deployment bool) {
		shape := "([%s])"
		if deployment {
			shape = "[%s]"
		}
		fmt.Fprintf(out, "  %s"+shape+"\n", id, fmt.Sprintf("%q", text))
	}, func(from, to string) { fmt.Fprintf(out, "  %s --> %s\n", from, to) })
}

// Dot is the rollout for graphviz.
func (s Summary) Dot(out io.Writer) {
	fmt.Fprintf(out, "digraph %q {\n", s.Name)
	s.graph(func(id, text string, deployment bool) {
		shape := "ellipse"
		if deployment {
			shape = "box"
		}
		fmt.Fprintf(out, "  %s [label=%q, shape=%s];\n", id, text, shape)
	}, func(from, to string) { fmt.Fprintf(out, "  %s -> %s;\n", from, to) })
	fmt.Fprintln(out, "}")
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
