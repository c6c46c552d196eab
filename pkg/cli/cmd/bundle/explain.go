package bundle

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle/lint"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/terminal"
)

func newExplainCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "explain [CODE]",
		Short:             "Explain a finding of bundle validate; without a code, list all findings",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeCodes,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				rows := lists.Map(lint.Checks(), func(c lint.Check) []string { return []string{c.Code, string(c.Level), string(c.Basis)} })
				terminal.Stdout(cmd).Table("", []string{"CODE", "LEVEL", "BASIS"}, rows)
				return nil
			}
			c, ok := lint.Find(args[0])
			if !ok {
				return fmt.Errorf("there is no finding %q: bundle explain lists all codes", args[0])
			}
			terminal.Stdout(cmd).Printf("%s (%s, %s)\n\n", c.Code, c.Level, c.Basis)
			for line := range strings.Lines(c.Explain) {
				terminal.Stdout(cmd).Printf("%s\n", strings.TrimSuffix(line, "\n"))
			}
			return nil
		},
	}
}

func completeCodes(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return lists.Map(lint.Checks(), func(c lint.Check) string { return c.Code }), cobra.ShellCompDirectiveNoFileComp
}
