package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/cluster/internal/host"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/cluster/internal/node"
)

// apiServerCommand has a command for each order.
func apiServerCommand() *cobra.Command {
	parent := &cobra.Command{Use: "api-server", Short: "Stop, start, restart one of the API servers, or hold it behind the others"}
	for _, order := range node.APIServerOrders {
		parent.AddCommand(&cobra.Command{
			Use:   order.Name + " NUMBER",
			Short: strings.ToUpper(order.Effect[:1]) + order.Effect[1:],
			Args:  cobra.ExactArgs(1),
			RunE: func(command *cobra.Command, args []string) error {
				if kubeconfig, ok := host.External(os.Getenv); ok {
					return fmt.Errorf("KUBECONFIG=%s names a cluster that this tool did not make", kubeconfig)
				}
				return host.OrderAPIServer(command.Context(), host.RunDir(os.Getenv), order.Name, args[0])
			},
		})
	}
	return parent
}

// componentCommand has a command for each order.
func componentCommand() *cobra.Command {
	parent := &cobra.Command{Use: "component", Short: "Stop or start " + strings.Join(node.Restartable(), ", ")}
	for _, order := range node.ComponentOrders {
		parent.AddCommand(&cobra.Command{
			Use:       order.Name + " NAME",
			Short:     strings.ToUpper(order.Effect[:1]) + order.Effect[1:],
			Args:      cobra.ExactArgs(1),
			ValidArgs: node.Restartable(),
			RunE: func(command *cobra.Command, args []string) error {
				if kubeconfig, ok := host.External(os.Getenv); ok {
					return fmt.Errorf("KUBECONFIG=%s names a cluster that this tool did not make", kubeconfig)
				}
				return host.OrderComponent(command.Context(), host.RunDir(os.Getenv), order.Name, args[0])
			},
		})
	}
	return parent
}

func printAPIServers(command *cobra.Command, state host.State) error {
	servers, err := host.APIServers(command.Context(), state.Layout)
	if err != nil {
		return err
	}
	for i, server := range servers {
		fmt.Fprintf(command.OutOrStdout(), "  API server  %d %s %s\n", i+1, server.URL, describe(server))
	}
	return nil
}

func describe(server node.APIServerState) string {
	switch {
	case !server.Running:
		return "stopped"
	case !server.Ready:
		return "not ready"
	case server.Held:
		return "ready, held behind etcd"
	default:
		return "ready"
	}
}
