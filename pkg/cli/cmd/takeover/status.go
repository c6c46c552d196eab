package takeover

import (
	"github.com/spf13/cobra"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/flags"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/terminal"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/takeover"
)

func newStatusCommand() *cobra.Command {
	format := flags.Output{}
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show which program manages each ClusterServiceVersion, and what is left to do",
		Long: `Shows for each ClusterServiceVersion whether olm-operator manages it (WithOLM), the manager adopts it (Adopting) or
manages it in the form of olm-operator (Adopted), brings it into its own form (Converging, Converged), or gives it back
(GivingBack, GivenBack). Unmanaged means that no client manages it: its webhooks serve, and are not repaired.

The command writes nothing.`,
		Args: cobra.NoArgs,
	}
	programs := newPrograms(cmd)
	format.Add(cmd, "json", "yaml")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		target, err := programs.connect()
		if err != nil {
			return err
		}
		snapshot, err := target.Snapshot(cmd.Context())
		if err != nil {
			return err
		}
		status := takeover.StatusOf(&snapshot)
		if format.Format == "" {
			status.Print(terminal.Stdout(cmd))
			return nil
		}
		return format.Print(terminal.Stdout(cmd), status)
	}
	return cmd
}
