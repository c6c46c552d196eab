package bundle

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle/show"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/flags"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/terminal"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/output"
)

func newShowCommand() *cobra.Command {
	var o targetOptions
	var format string
	cmd := &cobra.Command{
		Use:   "show DIR|IMAGE",
		Short: "Show what a bundle installs: webhooks and what they intercept, permissions, definitions, Deployments",
		Long:  "Shows what bundle install would apply with the same flags, even if it would refuse the bundle.",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			b, options, err := o.open(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			s, err := summarize(b, options)
			if err != nil {
				return err
			}
			return printSummary(terminal.Stdout(cmd), format, s)
		},
	}
	o.add(cmd, nil)
	cmd.Flags().StringVarP(&format, "output", "o", "text", "text, json, yaml; mermaid or dot for the order of the rollout")
	flags.Complete(cmd, "output", "text", "json", "yaml", "mermaid", "dot")
	return cmd
}

func summarize(b *bundle.Bundle, options bundle.Options) (show.Summary, error) {
	manifests, err := bundle.Manifests(b, options)
	if refused, ok := errors.AsType[*bundle.RefusedError](err); ok {
		return show.Of(b, refused.Manifests, refused.Refusals...), nil
	}
	if err != nil {
		return show.Summary{}, err
	}
	return show.Of(b, manifests), nil
}

func printSummary(out output.Writer, format string, s show.Summary) error {
	switch format {
	case "text":
		s.Print(out)
	case "mermaid":
		s.Mermaid(out)
	case "dot":
		s.Dot(out)
	default:
		return printValue(out, format, s)
	}
	return nil
}

func printValue(out output.Writer, format string, value any) error {
	switch format {
	case "json":
		return out.JSON(value)
	case "yaml":
		return out.YAML(value)
	default:
		return fmt.Errorf("--output=%s is no format of this command: see --help", format)
	}
}
