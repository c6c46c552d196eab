package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/cluster/internal/binaries"
)

func buildCommand() *cobra.Command {
	return binariesCommand("build", "Build all binaries into the cache, unless they exist, and print their directory",
		func(command *cobra.Command, set binaries.Set) (string, error) {
			return binaries.Build(command.Context(), set, command.ErrOrStderr())
		})
}

func pathCommand() *cobra.Command {
	return binariesCommand("path", "Print the directory of the binaries, or fail if one of them is not built",
		func(_ *cobra.Command, set binaries.Set) (string, error) { return binaries.Find(set) })
}

// binariesCommand returns a command that prints the directory of a set of binaries.
func binariesCommand(use, short string, directory func(*cobra.Command, binaries.Set) (string, error)) *cobra.Command {
	var light bool
	command := &cobra.Command{
		Use:   use,
		Short: short,
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			set := binaries.All
			if light {
				set = binaries.Light
			}
			bin, err := directory(command, set)
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
