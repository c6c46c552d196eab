// Package exitcode adds exit codes to the errors of commands.
package exitcode

import (
	"context"
	"errors"
)

// Interrupted is the exit code of a command that a signal ends.
const Interrupted = 130

type codedError struct {
	error

	code int
}

// With returns an error that ends the process with an exit code.
func With(code int, err error) error { return codedError{err, code} }

// Of returns the exit code of a command that ran in ctx and returned err. A signal ends ctx.
func Of(ctx context.Context, err error) int {
	coded := codedError{}
	switch {
	case err == nil:
		return 0
	case errors.As(err, &coded):
		return coded.code
	case ctx.Err() != nil:
		return Interrupted
	default:
		return 1
	}
}
