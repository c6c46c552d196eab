// Command olm-webhook-manager turns the webhooks that ClusterServiceVersions
// declare into webhooks that work.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	if err := execute(); err != nil {
		fmt.Fprintln(os.Stderr, "olm-webhook-manager:", err)
		os.Exit(1)
	}
}

// execute runs the subcommand that the arguments name, until it ends or the process
// is told to stop.
func execute() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	root := &cobra.Command{
		Use:           "olm-webhook-manager",
		Short:         "Turns the webhooks that ClusterServiceVersions declare into webhooks that work",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(runCommand(), bundleCommand(), certificatesCommand(), versionCommand())
	return root.ExecuteContext(ctx)
}
