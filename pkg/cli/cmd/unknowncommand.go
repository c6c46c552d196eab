package cmd

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// rejectUnknownCommands makes an unknown subcommand an error. By default, cobra prints the help of the group.
func rejectUnknownCommands(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		rejectUnknownCommands(sub)
	}
	if !cmd.HasSubCommands() {
		return
	}
	cmd.SuggestionsMinimumDistance = 2
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return unknownCommand(cmd, args[0])
	}
	if cmd.Runnable() { // without arguments
		return
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.SetFlagErrorFunc(func(at *cobra.Command, err error) error {
		if args := at.Flags().Args(); at == cmd && len(args) > 0 {
			return unknownCommand(at, args[0]) // The flag belongs to the misspelled subcommand.
		}
		return err
	})
}

// rejectUnknownTopics makes an unknown topic of help an error. By default, cobra prints the help of a known parent.
func rejectUnknownTopics(root *cobra.Command) {
	help, _, _ := root.Find([]string{"help"})
	help.Args = func(_ *cobra.Command, args []string) error {
		found, unknown, err := root.Find(args)
		if err != nil || len(unknown) == 0 {
			return err
		}
		return unknownCommand(found, unknown[0])
	}
}

// commandsBelow returns the paths of the commands of a name, at any depth: users omit the group of a command.
func commandsBelow(cmd *cobra.Command, name string) (paths []string) {
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() && sub.Name() == name {
			paths = append(paths, sub.CommandPath())
		}
		paths = append(paths, commandsBelow(sub, name)...)
	}
	return paths
}

// nameArguments lets a wrong number of arguments be reported with the arguments that a command takes.
func nameArguments(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		nameArguments(sub)
	}
	check := cmd.Args
	if check == nil || cmd.HasSubCommands() {
		return
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if check(cmd, args) == nil {
			return nil
		}
		_, takes, _ := strings.Cut(cmd.Use, " ")
		if takes == "" {
			takes = "no arguments"
		}
		return fmt.Errorf("%s takes %s, and %d arguments are given: see %s --help", cmd.CommandPath(), takes, len(args), cmd.CommandPath())
	}
}

func unknownCommand(cmd *cobra.Command, name string) error {
	suggestions := cmd.SuggestionsFor(name)
	if below := commandsBelow(cmd, name); len(suggestions) == 0 && len(below) > 0 {
		return fmt.Errorf("unknown command %q; did you mean %s?", name, strings.Join(below, ", or "))
	}
	if len(suggestions) == 0 {
		return fmt.Errorf("unknown command %q; %s --help lists the commands", name, cmd.CommandPath())
	}
	return fmt.Errorf("unknown command %q; did you mean %s %s?", name, cmd.CommandPath(), strings.Join(suggestions, ", or "))
}
