// Package bundle has the commands that convert manifests to bundles, and validate, show, install, upgrade and uninstall bundles.
package bundle

import "github.com/spf13/cobra"

// NewCommand returns the command bundle.
func NewCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bundle",
		Short: "Work with registry+v1 operator bundles, in folders, OCI layouts and registries",
	}
	cmd.AddCommand(
		newValidateCommand(), newInstallCommand(), newUpgradeCommand(), newUninstallCommand(),
		newExplainCommand(), newShowCommand(), newRenderCommand(), newConvertCommand(),
	)
	return cmd
}
