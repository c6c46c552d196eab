package bundle

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/flags"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/installer"
)

func bundleUpgradeCommand() *cobra.Command {
	o := installOptions{connection: flags.NewCluster().WithoutNamespace()}
	cmd := &cobra.Command{
		Use:   "upgrade DIR|IMAGE",
		Short: "Upgrade an installed operator to the version in a bundle, which has to replace it",
		Long: `Finds the version that the bundle replaces, and keeps its namespace, its watched namespaces
and its config unless flags say otherwise. Definitions are checked first: a version that
vanishes while objects are stored in it, or a schema that refuses stored objects, is
refused before anything is written. A version that only a webhook can convert to is served
once that webhook serves, in one write with its conversion, and stored at the end.

Exit codes: 0 upgraded; 1 it was refused, or does not go on; 130 interrupted.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, i, err := o.prepare(cmd, args[0], (*installer.Installer).CompleteUpgrade)
			if err != nil {
				return err
			}
			return o.goAhead(cmd, c, i, fmt.Sprintf("Upgrade it to %s", i.Bundle.CSV.Name))
		},
	}
	o.add(cmd, flags.Wide)
	o.addInstalling(cmd)
	return cmd
}
