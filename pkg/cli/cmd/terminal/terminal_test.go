package terminal

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/exitcode"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/output"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// Each line answers one question.
func TestConfirm(t *testing.T) {
	for name, test := range map[string]struct {
		typed string
		want  []string // an error for each question; empty is yes
	}{
		"yes, and yes":       {"y\nYES\n", []string{"", ""}},
		"yes, and no":        {"y\nn\n", []string{"", "nothing was changed"}},
		"yes, and no answer": {"y\n", []string{"", "use --yes"}},
		"the end of a pipe":  {"", []string{"use --yes"}},
		"a last line":        {"y", []string{""}},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := &cobra.Command{}
			cmd.SetContext(t.Context())
			cmd.SetIn(strings.NewReader(test.typed))
			for _, want := range test.want {
				err := Confirm(cmd, output.New(io.Discard), false, "Really?")
				installtest.Error(t, want, err)
			}
		})
	}
}

func TestConfirmByFlag(t *testing.T) {
	cmd := &cobra.Command{}
	cmd.SetContext(t.Context())
	cmd.SetIn(strings.NewReader(""))
	err := ConfirmBy(cmd, output.New(io.Discard), false, "--yes-delete-crds", "Really?")
	installtest.Error(t, "nothing was changed: answer y or yes, or use --yes-delete-crds if the input is not a terminal", err)
}

func TestConfirmInterrupted(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	cmd := &cobra.Command{}
	cmd.SetContext(ctx)
	silence, typed := io.Pipe()
	t.Cleanup(func() { typed.Close() })
	cmd.SetIn(silence)
	err := Confirm(cmd, output.New(io.Discard), false, "Really?")
	installtest.Same(t, "the exit code", exitcode.Interrupted, exitcode.Of(t.Context(), err))
}

func TestLoggerQuotes(t *testing.T) {
	var out strings.Builder
	cmd := &cobra.Command{}
	cmd.SetErr(&out)
	Logger(cmd).WithField("a", "b\x1b[2J\u202e").Warn("c\nd\x1b[2J")
	if strings.ContainsAny(out.String(), "\x1b\u202e") || strings.Count(out.String(), "\n") != 1 {
		t.Errorf("logged %q", out.String())
	}
}
