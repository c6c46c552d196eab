// Package plugin has the commands that only the plugin of kubectl has. They use templates. With templates, the linker keeps
// every method of every type, and the manager would need half as much memory again (hack/build.sh).
package plugin

import (
	"github.com/spf13/cobra"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/scaffold"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/ui"
)

// Extras returns the commands of the plugin.
func Extras() cmd.Extras {
	return cmd.Extras{Commands: []*cobra.Command{scaffold.NewCommand(), ui.NewCommand()}, PrintPage: ui.PrintPage}
}
