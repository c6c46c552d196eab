package bundle

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/flags"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/terminal"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/deploy"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/installer"
)

func newUninstallCommand() *cobra.Command {
	o, definitions, reallyDefinitions := installOptions{connection: flags.NewCluster().WithoutNamespace()}, false, false
	cmd := &cobra.Command{
		Use:   "uninstall DIR|IMAGE",
		Short: "Remove an installed bundle, webhooks first; keeps CustomResourceDefinitions by default",
		Long: `Prints what is kept and asks for confirmation. If the user may not delete one of the objects, or may not
write the record of the installation, nothing is deleted. If only the record is left, the command removes
from it what no longer exists. The ClusterServiceVersion is deleted first, and its webhooks before their
servers. An OperatorGroup that a bundle created is deleted with the last operator of its namespace.
CustomResourceDefinitions and their objects are kept. With --delete-crds they are deleted after a second
confirmation (--yes-delete-crds), before the ClusterServiceVersion, so that its operator can convert and
finalize their objects. If an object is not deleted within --patience, the command ends and prints the
cause: run it again to continue.
OperatorGroup and Subscription are deleted last: an interrupted removal finds its namespaces in them.

Exit codes: 0 removed; 1 not installed, refused, or no progress; 130 interrupted.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, shown, err := o.prepare(cmd, args[0], func(c *installer.Installer, ctx context.Context, b *bundle.Bundle, options *bundle.Options) (string, error) {
				options.AllowKinds, options.Removal = b.KindsToAllow(), true // what is installed may be removed
				return c.CompleteUninstall(ctx, b, options)
			})
			if err != nil {
				return err
			}
			return o.uninstall(cmd, c, shown.Installation(), definitions, reallyDefinitions)
		},
	}
	o.add(cmd)
	describeInstalled(cmd)
	cmd.Flags().BoolVar(&definitions, "delete-crds", false, "also delete the CustomResourceDefinitions and all their objects")
	cmd.Flags().BoolVar(&reallyDefinitions, "yes-delete-crds", false, "do not ask for confirmation of --delete-crds")
	return cmd
}

func (o *installOptions) uninstall(cmd *cobra.Command, c *installer.Installer, i installer.Installation, definitions, really bool) error {
	ctx, out := cmd.Context(), o.output.Messages(cmd)
	removal, err := c.Removal(ctx, i, definitions)
	if err != nil {
		return err
	}
	if err := deploy.CheckAdoptions(i.Adopted, i.Manifests, removal.Delete); err != nil {
		return err
	}
	if err := installer.CheckRemoval(i, removal); err != nil {
		return err
	}
	shown := installer.ShowRemoval(out, removal)
	if o.dryRun != dryRunNone {
		return o.dryRunUninstall(cmd, c, i, removal)
	}
	agreed, err := shown.Confirm(func() error {
		return terminal.Confirm(cmd, out, o.yes, fmt.Sprintf("Remove %s from namespace %s?", i.Bundle.CSV.Name, i.Namespace()))
	}, func() error {
		return terminal.ConfirmBy(cmd, out, really, "--yes-delete-crds", "Delete the definitions and all their objects, for good?")
	})
	if err != nil {
		return err
	}
	removed, err := c.Uninstall(ctx, i, agreed)
	if errors.Is(err, installer.ErrInterrupted) {
		err = fmt.Errorf("%w, with -n %s", err, i.Namespace())
	}
	if err := errors.Join(err, o.output.Print(terminal.Stdout(cmd), removed)); err != nil {
		return ended(err)
	}
	out.Printf("%s is removed\n", i.Bundle.CSV.Name)
	return nil
}

func (o *installOptions) dryRunUninstall(cmd *cobra.Command, c *installer.Installer, i installer.Installation, removal deploy.Removal) error {
	if o.dryRun == dryRunServer {
		tried, err := c.DryRunUninstall(cmd.Context(), i, removal)
		return errors.Join(err, o.output.Print(terminal.Stdout(cmd), tried))
	}
	for _, object := range removal.Delete {
		o.output.Messages(cmd).Printf("would remove %s\n", deploy.Title(object))
	}
	return o.output.Print(terminal.Stdout(cmd), removal.Delete)
}
