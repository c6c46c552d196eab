// Package version has the command that prints the version of this program.
package version

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/buildinfo"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/flags"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/terminal"
)

// NewCommand returns the command version.
func NewCommand() *cobra.Command {
	var output flags.Output
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version, the commit, and the versions of Go and of the Kubernetes libraries",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if output.Format != "" {
				return output.Print(terminal.Stdout(cmd), buildinfo.Current())
			}
			b := buildinfo.Current()
			terminal.Stdout(cmd).Lines("", fmt.Sprintf("%s\n  commit: %s\n  go: %s\n  kubernetes: %s\n", b.Version, b.Commit, b.Go, b.Kubernetes))
			return nil
		},
	}
	output.Add(cmd, "json", "yaml")
	return cmd
}
