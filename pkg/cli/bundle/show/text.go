package show

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/output"
)

// Print writes the summary for people.
func (s Summary) Print(out output.Writer) {
	out.Printf("%s, %s %s (%s)\n", s.Name, cmp.Or(s.DisplayName, s.Package), s.Version, s.Source)
	out.Printf("can watch: %s\n", strings.Join(s.InstallModes, ", "))
	s.PrintNotice(out)
	s.printRollout(out)
}

// PrintNotice writes what an administrator has to agree with.
func (s Summary) PrintNotice(out output.Writer) {
	if s.Replaces != "" {
		out.Printf("replaces: %s\n", s.Replaces)
	}
	if len(s.Skips) > 0 {
		out.Printf("skips: %s\n", strings.Join(s.Skips, ", "))
	}
	s.printWebhooks(out)
	s.printPermissions(out)
	s.printDeployments(out)
	s.printDefinitions(out)
	s.printObjects(out)
	for _, refused := range s.Refused {
		out.Printf("\nRefused: %s\n", refused)
	}
}

func (s Summary) printWebhooks(out output.Writer) {
	var rows [][]string
	for _, w := range s.Webhooks {
		timeout := ""
		if w.TimeoutSeconds > 0 {
			timeout = fmt.Sprintf("%ds", w.TimeoutSeconds)
		}
		rows = append(rows, []string{w.Type, strings.Join(w.Intercepts, "; "), w.Where, w.OnFailure, timeout, w.title()})
	}
	section(out, "Webhooks", []string{"TYPE", "INTERCEPTS", "WHERE", "ON FAILURE", "TIMEOUT", "NAME"}, rows)
}

func (w Webhook) title() string {
	switch {
	case w.Object == "":
		return w.Name
	case w.Calls == "":
		return fmt.Sprintf("%s (%s)", w.Name, w.Object)
	default:
		return fmt.Sprintf("%s (%s, calls %s)", w.Name, w.Object, w.Calls)
	}
}

func (s Summary) printRollout(out output.Writer) {
	out.Printf("\nRollout\n")
	for i, step := range s.Rollout {
		out.Printf("  %d. %s, %s\n", i+1, step.Deployment, output.Counted(int(step.Replicas), "replica"))
		for j, w := range step.Webhooks {
			branch := "├─"
			if j == len(step.Webhooks)-1 {
				branch = "└─"
			}
			out.Printf("     %s serves, then goes live: %s\n", branch, w)
		}
		if i < len(s.Rollout)-1 {
			out.Printf("  ↓\n")
		}
	}
}

func (s Summary) printDefinitions(out output.Writer) {
	var rows [][]string
	for _, d := range s.Definitions {
		rows = append(rows, []string{d.Name, d.Kind, d.Scope, strings.Join(d.Versions, ", ")})
	}
	section(out, "Definitions", []string{"NAME", "KIND", "SCOPE", "VERSIONS"}, rows)
}

func (s Summary) printPermissions(out output.Writer) {
	var rows [][]string
	for _, p := range s.Permissions {
		rows = append(rows, []string{p.Account, p.Where, p.Verbs, p.On})
	}
	section(out, "Permissions", []string{"ACCOUNT", "IN", "MAY", "ON"}, rows)
}

func (s Summary) printDeployments(out output.Writer) {
	var rows [][]string
	for _, d := range s.Deployments {
		rows = append(rows, []string{strings.TrimSpace(d.Kind + " " + d.Name), d.Account, strings.Join(d.Images, ", "), cmp.Or(strings.Join(d.HostAccess, ", "), "<none>")})
	}
	section(out, "Deployments", []string{"NAME", "ACCOUNT", "IMAGES", "HOST ACCESS"}, rows)
}

func (s Summary) printObjects(out output.Writer) {
	rows := [][]string{{"Namespace", s.Namespace.Name + labelText(", with labels", s.Namespace.Labels) + labelText(", with annotations", s.Namespace.Annotations)}}
	for _, o := range s.Objects {
		name := strings.TrimPrefix(o.Namespace+"/"+o.Name, "/")
		if o.Details != "" {
			name += ", " + o.Details
		}
		rows = append(rows, []string{o.Kind, name})
	}
	section(out, "Other objects", []string{"KIND", "NAME"}, rows)
}

// section writes a table. An empty table is announced: a missing table would not be noticed.
func section(out output.Writer, title string, header []string, rows [][]string) {
	if len(rows) == 0 {
		out.Printf("\n%s: none\n", title)
		return
	}
	out.Printf("\n%s\n", title)
	out.Table("  ", header, rows)
}
