package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// refuseUnknown has every command that only groups others return an error for an argument that
// is none of them. Without it such a command prints its help and succeeds.
func refuseUnknown(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		refuseUnknown(sub)
	}
	if !cmd.HasSubCommands() || cmd.Runnable() {
		return
	}
	cmd.Args, cmd.SuggestionsMinimumDistance = cobra.ArbitraryArgs, 2
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		return unknownCommand(cmd, args[0])
	}
	cmd.SetFlagErrorFunc(func(at *cobra.Command, err error) error {
		if args := at.Flags().Args(); at == cmd && len(args) > 0 {
			return unknownCommand(at, args[0]) // the flag is that of the command that was meant
		}
		return err
	})
}

func unknownCommand(cmd *cobra.Command, name string) error {
	suggestions := cmd.SuggestionsFor(name)
	if len(suggestions) == 0 {
		return fmt.Errorf("unknown command %q; %s --help lists the commands", name, cmd.CommandPath())
	}
	return fmt.Errorf("unknown command %q; did you mean %s %s?", name, cmd.CommandPath(), strings.Join(suggestions, ", or "))
}
