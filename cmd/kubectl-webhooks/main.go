// Command kubectl-webhooks is a plugin of kubectl. It has the commands of olm-webhook-manager, and those with templates.
package main

import (
	"os"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/plugin"
)

func main() {
	os.Exit(cmd.Execute(os.Args[0], plugin.Extras()))
}
