package terminal

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func TestLoggerQuotes(t *testing.T) {
	var out strings.Builder
	cmd := &cobra.Command{}
	cmd.SetErr(&out)
	Logger(cmd).WithField("a", "b\x1b[2J\u202e").Warn("c\nd\x1b[2J")
	if strings.ContainsAny(out.String(), "\x1b\u202e") || strings.Count(out.String(), "\n") != 1 {
		t.Errorf("logged %q", out.String())
	}
}
