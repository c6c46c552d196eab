// Package terminal has what commands print to, and how they ask and show progress.
package terminal

import (
	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/output"
)

// Stdout returns the Writer for the result of a command. The linter forbids all other ways to print.
func Stdout(cmd *cobra.Command) output.Writer {
	return output.New(cmd.OutOrStdout()) //nolint:forbidigo // All commands print through this function.
}

// Stderr returns the Writer for everything that is not the result of a command.
func Stderr(cmd *cobra.Command) output.Writer {
	return output.New(cmd.ErrOrStderr()) //nolint:forbidigo // All commands print through this function.
}

// Logger returns a logger for the work of the manager. Without colours, logrus quotes special characters.
func Logger(cmd *cobra.Command) *logrus.Entry {
	log := logrus.New()              //nolint:forbidigo // The only logger of commands.
	log.SetOutput(cmd.ErrOrStderr()) //nolint:forbidigo // The formatter quotes.
	log.SetFormatter(&logrus.TextFormatter{DisableColors: true})
	return logrus.NewEntry(log)
}
