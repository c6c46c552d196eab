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
			bin, err := binaries.Build(command.Context(), chosen(light), command.ErrOrStderr())
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(command.OutOrStdout(), bin)
			return err
		},
	}
	lightFlag(command, &light)
	return command
}

func pathCommand() *cobra.Command {
	var light bool
	command := &cobra.Command{
		Use:   "path",
		Short: "Print the directory of the binaries, or fail if one of them is not built",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			bin, err := binaries.Find(chosen(light))
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(command.OutOrStdout(), bin)
			return err
		},
	}
	lightFlag(command, &light)
	return command
}

func lightFlag(command *cobra.Command, light *bool) {
	command.Flags().BoolVar(light, "light", false, "only etcd, kube-apiserver and kubectl, for tests that need no node")
}

func chosen(light bool) binaries.Set {
	if light {
		return binaries.Light
	}
	return binaries.All
}
