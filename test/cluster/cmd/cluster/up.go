package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/cluster/internal/host"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/cluster/internal/node"
)

func upCommand() *cobra.Command {
	var install bool
	command := &cobra.Command{
		Use:   "up",
		Short: "Bring the cluster up, unless it is",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			out := command.OutOrStdout()
			if kubeconfig, ok := host.External(os.Getenv); ok {
				fmt.Fprintf(out, "Using the cluster of KUBECONFIG=%s; none is built or started.\n", kubeconfig)
				return nil
			}
			run := host.RunDir(os.Getenv)
			if err := host.BringUp(command.Context(), run, install, out); err != nil {
				return err
			}
			l := node.Layout{Run: run}
			fmt.Fprintf(out, "Inspect it with:\n  export KUBECONFIG=%s PATH=$PATH:%s\n  kubectl get pods -A\n", l.Kubeconfig(), l.BinLink())
			return nil
		},
	}
	command.Flags().BoolVar(&install, "install", false, "install missing Debian packages with apt-get")
	return command
}
