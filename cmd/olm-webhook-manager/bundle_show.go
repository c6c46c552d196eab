package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/bundle/show"
)

func bundleShowCommand() *cobra.Command {
	var output string
	var watch []string
	var registry registryFlags
	cmd := &cobra.Command{
		Use:   "show DIR|IMAGE",
		Short: "Say what a bundle brings: webhooks and what they intercept, Deployments, definitions, permissions",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			b, err := registry.open(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if err := b.Err(); err != nil {
				return err
			}
			return printSummary(cmd.OutOrStdout(), output, show.Of(b, watch))
		},
	}
	f := cmd.Flags()
	f.StringVarP(&output, "output", "o", "text", "text, json, yaml; mermaid or dot for the order of the rollout")
	complete(cmd, "output", "text", "json", "yaml", "mermaid", "dot")
	registry.add(cmd)
	f.StringSliceVar(&watch, "watch-namespaces", nil, "namespaces that the operator would watch (default: all, where the bundle supports it)")
	return cmd
}

func printSummary(out io.Writer, format string, s show.Summary) error {
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
