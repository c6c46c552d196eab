package main

import (
	"github.com/sirupsen/logrus"
	"github.com/spf13/cobra"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/output"
)

// stdout is where a command writes its result. No command writes in another way: the linter refuses it.
func stdout(cmd *cobra.Command) output.Writer {
	return output.New(cmd.OutOrStdout()) //nolint:forbidigo // This is the way.
}

// stderr is where a command writes what is no result.
func stderr(cmd *cobra.Command) output.Writer {
	return output.New(cmd.ErrOrStderr()) //nolint:forbidigo // This is the way.
}

// logger is for commands that do the work of the manager, and log it. Without colours, logrus quotes
// what is not plain.
func logger(cmd *cobra.Command) *logrus.Entry {
	log := logrus.New()
	log.SetOutput(cmd.ErrOrStderr()) //nolint:forbidigo // Its formatter quotes.
	log.SetFormatter(&logrus.TextFormatter{DisableColors: true})
	return logrus.NewEntry(log)
}
