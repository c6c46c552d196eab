package convert

import (
	"strings"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/output"
)

// Level is how much a finding matters.
type Level string

const (
	// Error is for a part of the operator that the bundle lacks, or that the manager refuses.
	Error Level = "error"
	// Warning is for a part that the bundle has in another form, or that its author has to check.
	Warning Level = "warning"
	// Note is for a part that the manager or an administrator provides.
	Note Level = "note"
)

func (l Level) rank() int {
	switch l {
	case Error:
		return 0
	case Warning:
		return 1
	default:
		return 2
	}
}

// Finding is a part of the input that a bundle cannot express, or expresses in another way.
type Finding struct {
	Level Level
	// Object is the kind, namespace and name of an object of the input, or of the ClusterServiceVersion.
	Object string
	// Path is the field.
	Path string
	// What is the fact and its effect.
	What string
	// Remedy is the next step.
	Remedy string
}

// Print writes a finding for people, as bundle validate does.
func (f Finding) Print(out output.Writer) {
	out.Printf("%-8s%s", f.Level, f.Object)
	if f.Path != "" {
		out.Printf("  %s", f.Path)
	}
	out.Printf("\n        %s\n        %s\n", f.What, f.Remedy)
}

// Count returns the number of findings of a level.
func (r Result) Count(level Level) int {
	n := 0
	for _, f := range r.Findings {
		if f.Level == level {
			n++
		}
	}
	return n
}

// Summary returns the numbers of findings.
func (r Result) Summary() string {
	return strings.Join([]string{output.Counted(r.Count(Error), "error"), output.Counted(r.Count(Warning), "warning"), output.Counted(r.Count(Note), "note")}, ", ")
}

func (c *converter) report(level Level, o *bundle.Object, path, what, remedy string) {
	c.findings = append(c.findings, Finding{level, title(o), path, what, remedy})
}

// reportCSV is about a field that the conversion writes.
func (c *converter) reportCSV(path, what, remedy string) {
	c.findings = append(c.findings, Finding{Note, operatorsv1alpha1.ClusterServiceVersionKind + " " + c.options.csvName(), path, what, remedy})
}

// title is the kind, namespace and name of an object.
func title(o *bundle.Object) string {
	if o.GetNamespace() == "" {
		return o.GetKind() + " " + o.GetName()
	}
	return o.GetKind() + " " + o.GetNamespace() + "/" + o.GetName()
}
