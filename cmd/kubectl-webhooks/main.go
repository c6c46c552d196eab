// Command kubectl-webhooks is a plugin of kubectl: it has the commands of olm-webhook-manager, and the ones that show pages
// and write files from templates.
package main

import (
	"os"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/plugin"
)

func main() {
	os.Exit(cmd.Execute(os.Args[0], plugin.Extras()))
}
