package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/bundle/lint"
)

func bundleExplainCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "explain [CODE]",
		Short:             "Say at length what a finding of bundle validate means; without a code, list them all",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeCodes,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return listChecks(cmd.OutOrStdout())
			}
			c, ok := lint.Find(args[0])
			if !ok {
				return fmt.Errorf("there is no finding %q: bundle explain lists them", args[0])
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s (%s, %s)\n\n%s\n", c.Code, c.Level, c.Basis, c.Explain)
			return nil
		},
	}
}

func completeCodes(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var codes []string
	for _, c := range lint.Checks() {
		codes = append(codes, c.Code)
	}
	return codes, cobra.ShellCompDirectiveNoFileComp
}

func listChecks(out io.Writer) error {
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "CODE\tLEVEL\tBASIS")
	for _, c := range lint.Checks() {
		fmt.Fprintf(table, "%s\t%s\t%s\n", c.Code, c.Level, c.Basis)
	}
	return table.Flush()
}
