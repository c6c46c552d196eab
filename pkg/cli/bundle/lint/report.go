package lint

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/owenrumney/go-sarif/v3/pkg/report"
	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/output"
)

// Print writes a report for people: what will happen, and the way out below it.
func (r Report) Print(out output.Writer) {
	for _, f := range r.Findings {
		level := string(f.Level)
		if f.Waived != "" {
			level = "waived"
		}
		out.Printf("%-8s%s", level, f.name())
		if place := f.place(); place != "" {
			out.Printf("  %s", place)
		}
		out.Printf("\n        %s\n", f.What)
		if f.Waived != "" {
			out.Printf("        waived: %s\n", strings.TrimSpace(f.Waived))
		} else if f.Remedy != "" {
			out.Printf("        %s\n", f.Remedy)
		}
	}
	out.Printf("%s: %s\n", r.Bundle, r.summary())
}

// name is the code, and marks the findings that a cluster need not confirm.
func (f Finding) name() string {
	if f.Basis == Policy || f.Basis == Library {
		return f.Code + " (" + string(f.Basis) + ")"
	}
	return f.Code
}

func (f Finding) place() string {
	place := f.File
	if f.Line > 0 {
		place += fmt.Sprintf(":%d", f.Line)
	}
	return strings.TrimSpace(place + " " + f.Path)
}

// artifact is the file that the finding is in. A waiver is in a file next to the bundle, any other finding is in the bundle.
func (f Finding) artifact(bundle string) string {
	if f.Code == unusedWaiver {
		return f.File
	}
	return strings.TrimSuffix(bundle+"/"+f.File, "/")
}

func (r Report) summary() string {
	errors, warnings := r.Count(Error), r.Count(Warning)
	return fmt.Sprintf("%s, %s, %d waived", output.Counted(errors, "error"), output.Counted(warnings, "warning"), len(r.Findings)-errors-warnings)
}

// SARIF writes reports in the format that code-scanning services read.
func SARIF(out output.Writer, version string, reports ...Report) error {
	run := sarif.NewRunWithInformationURI("olm-webhook-manager", "https://github.com/olm-webhook-manager/olm-webhook-manager")
	run.Tool.Driver.WithVersion(version)
	for _, c := range Checks() {
		run.AddRule(c.Code).WithDescription(strings.ReplaceAll(c.Explain, "\n", " ")).
			WithDefaultConfiguration(sarif.NewReportingConfiguration().WithLevel(string(c.Level)))
	}
	for _, r := range reports {
		for _, f := range r.Findings {
			addResult(run, r, f)
		}
	}
	log := report.NewV210Report()
	log.AddRun(run)
	var document bytes.Buffer
	if err := log.PrettyWrite(&document); err != nil {
		return err
	}
	return out.JSON(json.RawMessage(document.Bytes()))
}

func addResult(run *sarif.Run, r Report, f Finding) {
	text := f.What
	if f.Remedy != "" {
		text += "; " + f.Remedy
	}
	place := sarif.NewPhysicalLocation().WithArtifactLocation(sarif.NewSimpleArtifactLocation(f.artifact(r.Bundle)))
	if f.Line > 0 {
		place.WithRegion(sarif.NewSimpleRegion(f.Line, f.Line))
	}
	result := run.CreateResultForRule(f.Code).WithLevel(string(f.Level)).WithMessage(sarif.NewTextMessage(text)).
		WithProperties(sarif.NewPropertyBag().Add("basis", f.Basis))
	result.AddLocation(sarif.NewLocationWithPhysicalLocation(place))
	if f.Waived != "" {
		result.AddSuppression(sarif.NewSuppression().WithKind("external").WithJustification(f.Waived))
	}
}
