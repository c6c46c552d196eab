package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/cluster/internal/node"
)

// nodeCommand is what up starts as PID 1 of the cluster's namespaces.
func nodeCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "node RUN",
		Short:  "The inside of the cluster; up starts it",
		Args:   cobra.ExactArgs(1),
		Hidden: true,
		RunE: func(command *cobra.Command, args []string) error {
			layout, err := node.Open(args[0])
			if err != nil {
				return err
			}
			const inherited = 3 // the first file that a process gets in addition to its standard ones
			return node.Run(command.Context(), layout, os.NewFile(inherited, "linked"))
		},
	}
}
