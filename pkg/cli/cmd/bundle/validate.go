package bundle

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle/lint"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/buildinfo"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/flags"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/terminal"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/output"
)

type validateOptions struct {
	output   string
	strict   bool
	waivers  string
	registry registryFlags
}

func newValidateCommand() *cobra.Command {
	var o validateOptions
	cmd := &cobra.Command{
		Use:   "validate DIR|IMAGE...",
		Short: "Report the problems of bundles",
		Long: `Reports why a bundle cannot be read, what an API server or the manager would refuse, what would be accepted and not work,
and what administrators should review. bundle explain CODE explains a finding.

A finding is waived in a file next to the bundle, DIR.waivers.yaml, by its code and with a reason:

  waivers:
  - code: one-replica
    path: spec.install.spec.deployments[0]   # optional: a prefix of the field
    what: the one pod of shop                # optional: a part of the finding
    reason: the operator runs on single-node clusters only

The exit code is 1 when a finding is an error, or with --strict a warning, and is not waived.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return validate(cmd.Context(), terminal.Stdout(cmd), args, o)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&o.output, "output", "o", "text", "text, json, yaml or sarif")
	flags.Complete(cmd, "output", "text", "json", "yaml", "sarif")
	o.registry.add(cmd)
	f.BoolVar(&o.strict, "strict", false, "also fail on warnings")
	f.StringVar(&o.waivers, "waivers", "", "a file of waivers (default: DIR.waivers.yaml next to each bundle)")
	return cmd
}

func validate(ctx context.Context, out output.Writer, references []string, o validateOptions) error {
	var reports []lint.Report
	var problems []error
	for _, reference := range references {
		report, err := o.report(ctx, reference)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		reports = append(reports, report)
		if report.Count(lint.Error) > 0 || o.strict && report.Count(lint.Warning) > 0 {
			problems = append(problems, fmt.Errorf("not valid: %s", reference))
		}
	}
	return errors.Join(append([]error{printReports(out, o.output, reports)}, problems...)...)
}

func (o validateOptions) report(ctx context.Context, reference string) (lint.Report, error) {
	b, err := o.registry.open(ctx, reference)
	if err != nil {
		return lint.Report{}, err
	}
	waivers, err := waiversOf(reference, o.waivers)
	if err != nil {
		return lint.Report{}, err
	}
	return lint.Run(b, waivers...), nil
}

func printReports(out output.Writer, format string, reports []lint.Report) error {
	switch format {
	case "text":
		for _, r := range reports {
			r.Print(out)
		}
		return nil
	case "sarif":
		return lint.SARIF(out, buildinfo.Version(), reports...)
	default:
		return printValue(out, format, reports)
	}
}

// waiversOf returns the waivers of --waivers, or of the file next to the bundle's folder, if it exists.
func waiversOf(reference, file string) ([]lint.Waiver, error) {
	if file == "" {
		path, err := besideFolder(reference)
		if path == "" || err != nil {
			return nil, err
		}
		// The author of the bundle may have created it: reading a named pipe would block.
		if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
			return nil, fmt.Errorf("%s is no regular file: replace it, or name a file of waivers with --waivers", path)
		}
		return lint.ReadWaivers(path)
	}
	if _, err := os.Stat(file); err != nil {
		return nil, fmt.Errorf("--waivers: %w", err)
	}
	return lint.ReadWaivers(file)
}

func besideFolder(reference string) (string, error) {
	info, err := os.Stat(reference)
	if isFolder := err == nil && info.IsDir(); !isFolder {
		return "", nil
	}
	dir := filepath.Clean(reference)
	if base := filepath.Base(dir); base == "." || base == ".." {
		if dir, err = filepath.Abs(dir); err != nil {
			return "", err
		}
	}
	return dir + ".waivers.yaml", nil
}
