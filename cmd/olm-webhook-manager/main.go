// Command olm-webhook-manager turns the webhooks that ClusterServiceVersions
// declare into webhooks that work.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	err := execute(filepath.Base(os.Args[0]))
	if err == nil {
		return
	}
	fmt.Fprintln(os.Stderr, "olm-webhook-manager:", err)
	if coded := (codedError{}); errors.As(err, &coded) {
		os.Exit(coded.code)
	}
	os.Exit(1)
}

// plugin is the name by which kubectl finds this program, as "kubectl webhooks".
const plugin = "kubectl-webhooks"

// execute runs the subcommand that the arguments name, until it ends or the process
// is told to stop.
func execute(name string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	root := &cobra.Command{
		Use:           "olm-webhook-manager",
		Short:         "Turns the webhooks that ClusterServiceVersions declare into webhooks that work",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	if name == plugin {
		root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl webhooks"}
	}
	root.AddCommand(runCommand(), bundleCommand(), certificatesCommand(), statusCommand(), doctorCommand(), storageCommand(), uninstallCommand(), versionCommand())
	return root.ExecuteContext(ctx)
}
