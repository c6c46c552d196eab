// Command olm-webhook-manager turns the webhooks that ClusterServiceVersions declare into webhooks that work.
package main

import (
	"os"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd"
)

func main() {
	os.Exit(cmd.Execute(os.Args[0], cmd.Extras{}))
}
