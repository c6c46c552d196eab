package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/cluster/internal/binaries"
)

func buildCommand() *cobra.Command {
	var light bool
	command := &cobra.Command{
		Use:   "build",
		Short: "Build all binaries into the cache, unless they are there, and print their directory",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			set := binaries.All
			if light {
				set = binaries.Light
			}
			bin, err := binaries.Build(command.Context(), set, command.ErrOrStderr())
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(command.OutOrStdout(), bin)
			return err
		},
	}
	command.Flags().BoolVar(&light, "light", false, "only etcd, kube-apiserver and kubectl, for tests that need no node")
	return command
}
