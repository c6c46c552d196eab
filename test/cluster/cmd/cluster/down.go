package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/cluster/internal/host"
)

func downCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "down",
		Short: "Take the cluster down and leave nothing of it",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			out := command.OutOrStdout()
			if kubeconfig, ok := host.External(os.Getenv); ok {
				fmt.Fprintf(out, "KUBECONFIG=%s names a cluster that this tool did not make: it stays as it is.\n"+
					"Unset KUBECONFIG to take down the one that this tool made.\n", kubeconfig)
				return nil
			}
			return host.TakeDown(command.Context(), host.RunDir(os.Getenv), out)
		},
	}
}
