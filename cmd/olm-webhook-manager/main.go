// Command olm-webhook-manager turns the webhooks that ClusterServiceVersions
// declare into webhooks that work.
package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"
	"k8s.io/klog/v2"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/output"
)

func main() {
	os.Exit(execute(rootCommand(calledAs(os.Args[0]))))
}

// report writes the error that ends the program, which the user has called by a name.
func report(to output.Writer, name string, err error) { to.Lines(name+": ", err.Error()) }

// plugin is the name by which kubectl finds this program, as "kubectl webhooks".
const plugin = "kubectl-webhooks"

// calledAs returns the name by which the user has called the program.
func calledAs(path string) string {
	if name := filepath.Base(path); name != plugin {
		return name
	}
	return "kubectl webhooks"
}

// rootCommand has all subcommands. Messages and help show its name.
func rootCommand(name string) *cobra.Command {
	root := &cobra.Command{
		Use:           "olm-webhook-manager",
		Short:         "Turns the webhooks that ClusterServiceVersions declare into webhooks that work",
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: name},
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       thisBuild().Version,
	}
	root.PersistentPreRun = func(cmd *cobra.Command, _ []string) {
		if cmd.Name() != "run" { // Its log is read by programs.
			klog.SetLogger(stderr(cmd).Log())
		}
	}
	root.AddCommand(runCommand(), bundleCommand(), certificatesCommand(), statusCommand(), doctorCommand(), storageCommand(), removeManagerCommand(), versionCommand())
	refuseUnknown(root)
	return root
}

// exitInterrupted is the exit code of a command that a signal has ended.
const exitInterrupted = 130

// execute runs the subcommand that the arguments name, and returns the exit code. A first signal
// ends the context, by which the command ends in order; a second one ends the process at once.
func execute(root *cobra.Command) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	err := root.ExecuteContext(ctx)
	if err != nil {
		report(stderr(root), root.DisplayName(), err)
	}
	return exitCode(err, ctx.Err() != nil)
}

func exitCode(err error, interrupted bool) int {
	coded := codedError{}
	switch {
	case err == nil:
		return 0
	case errors.As(err, &coded):
		return coded.code
	case interrupted:
		return exitInterrupted
	default:
		return 1
	}
}
