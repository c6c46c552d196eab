package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/cluster/internal/host"
)

func statusCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Report whether the cluster is up, and where its files are; exit 1 if it is not",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			out := command.OutOrStdout()
			if kubeconfig, ok := host.External(os.Getenv); ok {
				fmt.Fprintf(out, "The cluster in use is that of KUBECONFIG=%s.\n", kubeconfig)
				return nil
			}
			state := host.Observe(command.Context(), host.RunDir(os.Getenv))
			switch state.Phase {
			case host.Up:
				fmt.Fprintf(out, "up\n  kubeconfig  %s\n  binaries    %s\n  logs        %s\n  audit log   %s\n  inside      nsenter --target %d --all\n",
					state.Layout.Kubeconfig(), state.Layout.Bin, state.Layout.Logs(), state.Layout.AuditLog(), state.PID)
				return nil
			case host.Broken:
				return fmt.Errorf("the cluster is broken: %s", state.Reason)
			default:
				return fmt.Errorf("no cluster is up")
			}
		},
	}
}

func kubeconfigCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "kubeconfig",
		Short: "Print the path of the kubeconfig in use",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			kubeconfig, ok := host.External(os.Getenv)
			if !ok {
				var err error
				if kubeconfig, err = host.Kubeconfig(command.Context(), host.RunDir(os.Getenv)); err != nil {
					return err
				}
			}
			_, err := fmt.Fprintln(command.OutOrStdout(), kubeconfig)
			return err
		},
	}
}
