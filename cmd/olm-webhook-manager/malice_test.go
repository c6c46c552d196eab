package main

import (
	"errors"
	"strings"
	"testing"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/output"
)

// Whatever a command says of the fixture that tries everything, no character of it reaches the
// terminal raw, and no document for programs has a null list.
func TestMaliceIsEncoded(t *testing.T) {
	const malice = "../../pkg/cli/bundle/testdata/malice"
	for _, args := range [][]string{
		{"validate", malice}, {"validate", "-o", "json", malice}, {"validate", "-o", "yaml", malice}, {"validate", "-o", "sarif", malice},
		{"validate", "-o", "json", "./no\nwhere\x1b"},
		{"show", malice}, {"show", "-o", "json", malice}, {"show", "-o", "yaml", malice}, {"show", "-o", "dot", malice}, {"show", "-o", "mermaid", malice},
		{"render", malice}, {"explain", "no\x1b"},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			out, err := command(t, args...)
			if i := strings.IndexFunc(out, func(r rune) bool { return !unicode.IsGraphic(r) && r != '\n' && r != '\t' }); i >= 0 {
				t.Errorf("%q is written raw", out[max(0, i-40):i+10])
			}
			for line := range strings.Lines(out) {
				if strings.HasPrefix(line, "Webhooks: none") {
					t.Errorf("a line is forged: %s", line)
				}
			}
			if args[0] != "render" && strings.Contains(out, "null") {
				t.Errorf("a list is null:\n%s", out)
			}
			if args[0] == "render" && (err == nil || out != "") {
				t.Errorf("it is rendered: %v", err)
			}
		})
	}
}

// The error of a command is encoded, and what follows its first line is indented.
func TestErrorsAreEncoded(t *testing.T) {
	var out strings.Builder
	report(output.New(&out), "olm-webhook-manager", errors.Join(errors.New("a \x1b[2J"), errors.New("b\nshop.v1 is installed")))
	if want := "olm-webhook-manager: a \\x1b[2J\n  b\n  shop.v1 is installed\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

// What a command logs is quoted, in a terminal as well.
func TestLogIsQuoted(t *testing.T) {
	var out strings.Builder
	cmd := &cobra.Command{}
	cmd.SetErr(&out)
	logger(cmd).WithField("a", "b\x1b[2J\u202e").Warn("c\nd\x1b[2J")
	if strings.ContainsAny(out.String(), "\x1b\u202e") || strings.Count(out.String(), "\n") != 1 {
		t.Errorf("logged %q", out.String())
	}
}
