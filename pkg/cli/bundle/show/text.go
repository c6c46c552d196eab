package show

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
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
	section(out, "Permissions", []string{"ACCOUNT", "IN", "MAY", "ON"}, s.Permissions, func(p Permission) []string {
		return []string{p.Account, p.Where, p.Verbs, p.On}
	})
	section(out, "Deployments and other workloads", []string{"NAME", "ACCOUNT", "IMAGES", "HOST ACCESS"}, s.Deployments, func(d Deployment) []string {
		return []string{strings.TrimSpace(d.Kind + " " + d.Name), d.Account, strings.Join(d.Images, ", "), cmp.Or(strings.Join(d.HostAccess, ", "), "<none>")}
	})
	section(out, "Definitions", []string{"NAME", "KIND", "SCOPE", "VERSIONS"}, s.Definitions, func(d Definition) []string {
		return []string{d.Name, d.Kind, d.Scope, strings.Join(d.Versions, ", ")}
	})
	s.printObjects(out)
	for _, refused := range s.Refused {
		out.Printf("\nRefused: %s\n", refused)
	}
}

func (s Summary) printWebhooks(out output.Writer) {
	section(out, "Webhooks", []string{"TYPE", "INTERCEPTS", "WHERE", "ON FAILURE", "TIMEOUT", "NAME"}, s.Webhooks, func(w Webhook) []string {
		timeout := ""
		if w.TimeoutSeconds > 0 {
			timeout = fmt.Sprintf("%ds", w.TimeoutSeconds)
		}
		return []string{w.Type, strings.Join(w.Intercepts, "; "), w.Where, w.OnFailure, timeout, w.title()}
	})
}

func (w Webhook) title() string {
	switch {
	case w.Disabled != "":
		return fmt.Sprintf("%s (disabled by %s)", w.Name, w.Disabled)
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

func (s Summary) printObjects(out output.Writer) {
	namespace := s.Namespace.Name + labelText(", with labels", s.Namespace.Labels) + labelText(", with annotations", s.Namespace.Annotations)
	section(out, "Other objects", []string{"KIND", "NAME"}, append([]Object{{Kind: "Namespace", Name: namespace}}, s.Objects...), func(o Object) []string {
		name := strings.TrimPrefix(o.Namespace+"/"+o.Name, "/")
		if o.Details != "" {
			name += ", " + o.Details
		}
		return []string{o.Kind, name}
	})
}

// section writes a table. An empty table is announced: a missing table would not be noticed.
func section[T any](out output.Writer, title string, header []string, items []T, row func(T) []string) {
	if len(items) == 0 {
		out.Printf("\n%s: none\n", title)
		return
	}
	out.Printf("\n%s\n", title)
	out.Table("  ", header, lists.Map(items, row))
}

func labelText(heading string, pairs map[string]string) string {
	if len(pairs) == 0 {
		return ""
	}
	all := lists.Map(slices.Sorted(maps.Keys(pairs)), func(key string) string { return key + "=" + pairs[key] })
	return heading + " " + strings.Join(all, ", ")
}

// selectorText returns the conditions of a selector; empty if it selects everything.
func selectorText(selector *metav1.LabelSelector) string {
	if selector == nil || len(selector.MatchLabels)+len(selector.MatchExpressions) == 0 {
		return ""
	}
	return metav1.FormatLabelSelector(selector)
}
