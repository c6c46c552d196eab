// Package cmd has the root command of the program. Each package below it has the commands of one noun.
package cmd

import (
	"context"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"
	"k8s.io/klog/v2"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/audit"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/buildinfo"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/bundle"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/certificates"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/doctor"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/exitcode"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/manager"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/status"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/storage"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/takeover"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/terminal"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/version"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/output"
)

// Extras are what a program has in addition to the commands of the manager.
type Extras struct {
	Commands  []*cobra.Command
	PrintPage doctor.PrintPage
}

// Execute runs the command of the process's arguments, by the path of the program, and returns the exit code.
func Execute(path string, extras Extras) int {
	return execute(NewRootCommand(displayName(path), extras))
}

// pluginName is the file name by which kubectl runs a program as "kubectl webhooks".
const pluginName = "kubectl-webhooks"

func displayName(path string) string {
	if name := filepath.Base(path); name != pluginName {
		return name
	}
	return "kubectl webhooks"
}

// NewRootCommand returns the root command with all its subcommands. Messages and help show displayName.
func NewRootCommand(displayName string, extras Extras) *cobra.Command {
	root := &cobra.Command{
		Use:           "olm-webhook-manager",
		Short:         "Turns the webhooks that ClusterServiceVersions declare into webhooks that work",
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: displayName},
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       buildinfo.Version(),
	}
	root.PersistentPreRun = func(cmd *cobra.Command, _ []string) {
		if cmd.Name() != "run" { // Programs read the log of the manager.
			klog.SetLogger(terminal.Stderr(cmd).Log())
		}
	}
	root.AddCommand(
		audit.NewCommand(),
		bundle.NewCommand(),
		certificates.NewCommand(),
		doctor.NewCommand(extras.PrintPage),
		manager.NewRunCommand(),
		manager.NewRemoveCommand(),
		status.NewCommand(),
		storage.NewCommand(),
		takeover.NewCommand(),
		version.NewCommand(),
	)
	root.AddCommand(extras.Commands...)
	root.InitDefaultHelpCmd() // Otherwise cobra adds these two when the command runs.
	root.InitDefaultCompletionCmd()
	nameArguments(root)
	rejectUnknownCommands(root)
	rejectUnknownTopics(root)
	return root
}

// execute ends the context at the first signal, and the process at the second.
func execute(root *cobra.Command) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	err := root.ExecuteContext(ctx)
	if err != nil {
		printError(terminal.Stderr(root), root.DisplayName(), err)
	}
	return exitcode.Of(ctx, err)
}

func printError(to output.Writer, program string, err error) { to.Lines(program+": ", err.Error()) }
