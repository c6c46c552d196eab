package bundle

import (
	"errors"
	"fmt"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/exitcode"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/installer"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/output"
)

func printValue(out output.Writer, format string, value any) error {
	switch format {
	case "json":
		return out.JSON(value)
	case "yaml":
		return out.YAML(value)
	default:
		return fmt.Errorf("--output=%s is no format of this command: see --help", format)
	}
}

// warn prints the parts of a bundle that are applied differently from how they are written.
func warn(out output.Writer, b *bundle.Bundle) {
	for _, p := range b.Problems {
		out.Printf("warning: %s\n", p)
	}
}

func timedPrinter(out output.Writer) func(format string, args ...any) {
	began := time.Now()
	return func(format string, args ...any) {
		out.Printf("%6.1fs  ", time.Since(began).Seconds())
		out.Printf(format+"\n", args...)
	}
}

func ended(err error) error {
	if errors.Is(err, installer.ErrInterrupted) {
		return exitcode.With(exitcode.Interrupted, err)
	}
	return err
}
