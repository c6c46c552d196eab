// Command cluster builds a Kubernetes of one node from source and runs it on this
// machine. Where KUBECONFIG names a cluster of the caller's, it reports that and leaves that
// cluster alone.
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
	os.Exit(run())
}

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := rootCommand().ExecuteContext(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "cluster: %v\n", err)
		return 1
	}
	return 0
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:               "cluster",
		Short:             "A real Kubernetes of one node, built from Go modules",
		SilenceUsage:      true,
		SilenceErrors:     true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.AddCommand(buildCommand(), pathCommand(), upCommand(), downCommand(), statusCommand(), kubeconfigCommand(), loadCommand(), apiServerCommand(), componentCommand(), nodeCommand())
	return root
}
