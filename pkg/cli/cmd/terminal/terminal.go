// Package terminal has what commands print to, and how they ask and show progress.
package terminal

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/exitcode"
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

// Confirm asks a question and returns an error unless the answer, or yes, is yes.
func Confirm(cmd *cobra.Command, out output.Writer, yes bool, question string) error {
	return ConfirmBy(cmd, out, yes, "--yes", question)
}

// ConfirmBy is Confirm for a question that a flag with another name answers.
func ConfirmBy(cmd *cobra.Command, out output.Writer, yes bool, flag, question string) error {
	if yes {
		return nil
	}
	out.Printf("%s [y/N] ", question)
	answered := make(chan string, 1)
	go func() { answered <- readLine(cmd.InOrStdin()) }()
	select {
	case <-cmd.Context().Done():
		return exitcode.With(exitcode.Interrupted, errors.New("interrupted before anything was changed"))
	case answer := <-answered:
		switch strings.ToLower(strings.TrimSpace(answer)) {
		case "y", "yes":
			return nil
		case "":
			return fmt.Errorf("nothing was changed: answer y or yes, or use %s if the input is not a terminal", flag)
		default:
			return errors.New("nothing was changed")
		}
	}
}

// readLine reads one line and nothing after it: the next line answers the next question.
func readLine(from io.Reader) string {
	var text strings.Builder
	for one := make([]byte, 1); ; {
		n, err := from.Read(one)
		text.Write(one[:n])
		if err != nil || one[0] == '\n' {
			return text.String()
		}
	}
}
