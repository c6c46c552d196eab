package cmd

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/output"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func root(t *testing.T, name string, args ...string) (out, errors string, code int) {
	t.Helper()
	cmd := NewRootCommand(displayName(name), Extras{})
	var stdout, stderr bytes.Buffer
	cmd.SetOut(&stdout)
	cmd.SetErr(&stderr)
	cmd.SetArgs(args)
	code = execute(cmd)
	return stdout.String(), stderr.String(), code
}

// TestUnknownCommands calls each group of commands, at every depth, with an unknown subcommand.
func TestUnknownCommands(t *testing.T) {
	var groups [][]string
	var walk func(cmd *cobra.Command, path []string)
	walk = func(cmd *cobra.Command, path []string) {
		if cmd.HasSubCommands() {
			groups = append(groups, path)
		}
		for _, sub := range cmd.Commands() {
			walk(sub, append(slices.Clone(path), sub.Name()))
		}
	}
	walk(NewRootCommand("olm-webhook-manager", Extras{}), nil)
	if len(groups) < 5 {
		t.Fatalf("there are %d groups: %v", len(groups), groups)
	}
	added := slices.ContainsFunc(groups, func(path []string) bool { return slices.Equal(path, []string{"completion"}) })
	installtest.Same(t, "the group that cobra adds is among them", true, added)
	for _, group := range groups {
		for _, more := range [][]string{{"nothing"}, {"nothing", "--strict"}, {"nothing", "x", "-o", "json"}} {
			args := append(slices.Clone(group), more...)
			if _, stderr, code := root(t, "olm-webhook-manager", args...); code != 1 || !strings.Contains(stderr, `unknown command "nothing"`) && !strings.Contains(stderr, "unknown flag: --strict") {
				t.Errorf("%v: exit code %d, %s", args, code, stderr)
			}
		}
	}
}

// A misspelled subcommand of any group is an error with a suggestion.
func TestMisspelledCommands(t *testing.T) {
	for _, path := range commandPaths(NewRootCommand("olm-webhook-manager", Extras{}), nil) {
		if path[0] == "help" { // cobra suggests it for no name
			continue
		}
		last := path[len(path)-1]
		args := append(slices.Clone(path[:len(path)-1]), last[:len(last)-1])
		if _, stderr, code := root(t, "olm-webhook-manager", args...); code != 1 || !strings.Contains(stderr, "did you mean") || !strings.Contains(stderr, last) {
			t.Errorf("%v: exit code %d, %s", args, code, stderr)
		}
	}
}

// commandPaths returns the names of each command below another one.
func commandPaths(cmd *cobra.Command, path []string) (all [][]string) {
	for _, sub := range cmd.Commands() {
		at := append(slices.Clone(path), sub.Name())
		all = append(append(all, at), commandPaths(sub, at)...)
	}
	return all
}

func TestMessagesOfTheProgram(t *testing.T) {
	for name, test := range map[string]struct {
		program string
		args    []string
		want    string // in the errors
		code    int
	}{
		"a nested command is misspelled": {"kubectl-webhooks", []string{"bundle", "validte", "x"}, "kubectl webhooks: unknown command \"validte\"; did you mean kubectl webhooks bundle validate?\n", 1},
		"a command is misspelled":        {"/bin/olm-webhook-manager", []string{"stauts"}, "olm-webhook-manager: unknown command \"stauts\"; did you mean olm-webhook-manager status?\n", 1},
		"a command without its group":    {"kubectl-webhooks", []string{"rotate", "shop.v1"}, "kubectl webhooks: unknown command \"rotate\"; did you mean kubectl webhooks certificates rotate?\n", 1},
		"an argument is missing":         {"kubectl-webhooks", []string{"bundle", "install"}, "kubectl webhooks: kubectl webhooks bundle install takes DIR|IMAGE, and 0 arguments are given: see kubectl webhooks bundle install --help\n", 1},
		"an argument too many":           {"kubectl-webhooks", []string{"version", "shop"}, "kubectl webhooks: kubectl webhooks version takes no arguments, and 1 arguments are given: see kubectl webhooks version --help\n", 1},
		"it has another name":            {"./owm", []string{"storage", "foo"}, "owm: unknown command \"foo\"; owm storage --help lists the commands\n", 1},
		"a group alone prints its help":  {"owm", []string{"bundle"}, "", 0},
		"a shell is misspelled":          {"kubectl-webhooks", []string{"completion", "bsah"}, "kubectl webhooks: unknown command \"bsah\"; did you mean kubectl webhooks completion bash, or zsh?\n", 1},
		"a topic is misspelled":          {"kubectl-webhooks", []string{"help", "bundel"}, "kubectl webhooks: unknown command \"bundel\"; did you mean kubectl webhooks bundle?\n", 1},
		"a nested topic is misspelled":   {"owm", []string{"help", "bundle", "validte"}, "owm: unknown command \"validte\"; did you mean owm bundle validate?\n", 1},
		"a topic below a command":        {"owm", []string{"help", "version", "x"}, "owm: unknown command \"x\"; owm version --help lists the commands\n", 1},
		"a topic":                        {"owm", []string{"help", "bundle", "validate"}, "", 0},
		"no topic":                       {"owm", []string{"help"}, "", 0},
		"an unknown flag of a group":     {"owm", []string{"bundle", "--strict"}, "owm: unknown flag: --strict\n", 1},
		"an unknown format":              {"owm", []string{"version", "-o", "xml"}, "owm: --output=xml: use one of [json yaml]\n", 1},
	} {
		t.Run(name, func(t *testing.T) {
			_, stderr, code := root(t, test.program, test.args...)
			installtest.Same(t, "stderr", test.want, stderr)
			installtest.Same(t, "exit code", test.code, code)
		})
	}
}

func TestVersion(t *testing.T) {
	text, _, _ := root(t, "olm-webhook-manager", "version")
	if flag, _, code := root(t, "olm-webhook-manager", "--version"); code != 0 || !strings.Contains(text, strings.TrimSpace(strings.TrimPrefix(flag, "olm-webhook-manager version "))) {
		t.Errorf("--version prints %q, with exit code %d; version prints %q", flag, code, text)
	}
	installtest.Contains(t, text, "\n  commit: ", "\n  go: 1.", "\n  kubernetes: ")
	out, _, _ := root(t, "olm-webhook-manager", "version", "-o", "json")
	installtest.Contains(t, out, `"kubernetes": "`)
}

// The error of a command is encoded. All lines except the first are indented.
func TestErrorsAreEncoded(t *testing.T) {
	var out strings.Builder
	printError(output.New(&out), "olm-webhook-manager", errors.Join(errors.New("a \x1b[2J"), errors.New("b\nshop.v1 is installed")))
	installtest.Same(t, "output", "olm-webhook-manager: a \\x1b[2J\n  b\n  shop.v1 is installed\n", out.String())
}
