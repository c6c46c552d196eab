package main

import (
	"errors"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/output"
)

// confirm asks a person. Whoever cannot be asked has to say yes beforehand.
func confirm(cmd *cobra.Command, out output.Writer, yes bool, question string) error {
	if yes {
		return nil
	}
	out.Printf("%s [y/N] ", question)
	answered := make(chan string, 1)
	go func() { answered <- line(cmd.InOrStdin()) }()
	select {
	case <-cmd.Context().Done():
		return codedError{exitInterrupted, errors.New("interrupted before anything was changed")}
	case answer := <-answered:
		switch strings.ToLower(strings.TrimSpace(answer)) {
		case "y", "yes":
			return nil
		case "":
			return errors.New("nothing was changed: answer y or yes, or use --yes where nobody can be asked")
		default:
			return errors.New("nothing was changed")
		}
	}
}

// line reads no further than to the end of a line: what follows answers the next question.
func line(from io.Reader) string {
	var text strings.Builder
	for one := make([]byte, 1); ; {
		n, err := from.Read(one)
		text.Write(one[:n])
		if err != nil || one[0] == '\n' {
			return text.String()
		}
	}
}
