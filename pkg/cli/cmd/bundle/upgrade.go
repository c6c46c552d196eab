package bundle

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/flags"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/installer"
)

func newUpgradeCommand() *cobra.Command {
	o := installOptions{connection: flags.NewCluster().WithoutNamespace()}
	cmd := &cobra.Command{
		Use:   "upgrade DIR|IMAGE",
		Short: "Upgrade an installed operator to the version in a bundle, which has to replace it",
		Long: `Finds the version that the bundle replaces. Its namespace, watched namespaces and config are kept unless
flags set them. With --config, fields of the config that other clients own are kept and shown, too.
CustomResourceDefinitions are checked first: the command refuses to remove a version in which objects
are stored, and a schema that stored objects do not fit. A version that needs a conversion webhook is
served after that webhook serves, in one write with the conversion, and becomes the storage version at
the end.

Exit codes: 0 upgraded; 1 refused, or no progress; 130 interrupted.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, shown, err := o.prepare(cmd, args[0], func(c *installer.Installer, ctx context.Context, b *bundle.Bundle, options *bundle.Options) (string, error) {
				return c.CompleteUpgrade(ctx, b, options, o.adopted...)
			})
			if err != nil {
				return err
			}
			return o.execute(cmd, c, shown, fmt.Sprintf("Upgrade it to %s", shown.Installation().Bundle.CSV.Name))
		},
	}
	o.add(cmd, flags.Wide)
	o.addInstalling(cmd)
	describeInstalled(cmd)
	return cmd
}
