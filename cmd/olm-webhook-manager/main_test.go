package main

import (
	"bytes"
	"context"
	"errors"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// root runs the program with some arguments.
func root(t *testing.T, name string, args ...string) (out, errors string, code int) {
	t.Helper()
	cmd := rootCommand(calledAs(name))
	var stdout, stderr bytes.Buffer
	cmd.SetOut(&stdout)
	cmd.SetErr(&stderr)
	cmd.SetArgs(args)
	code = execute(cmd)
	return stdout.String(), stderr.String(), code
}

// TestUnknownCommands calls every command that groups others, at every depth, with a command that
// it does not have.
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
	walk(rootCommand("olm-webhook-manager"), nil)
	if len(groups) < 4 {
		t.Fatalf("there are %d groups", len(groups))
	}
	for _, group := range groups {
		for _, more := range [][]string{{"nothing"}, {"nothing", "--strict"}, {"nothing", "x", "-o", "json"}} {
			args := append(slices.Clone(group), more...)
			if _, stderr, code := root(t, "olm-webhook-manager", args...); code != 1 || !strings.Contains(stderr, `unknown command "nothing"`) && !strings.Contains(stderr, "unknown flag: --strict") {
				t.Errorf("%v: exit code %d, %s", args, code, stderr)
			}
		}
	}
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
		"it has another name":            {"./owm", []string{"storage", "foo"}, "owm: unknown command \"foo\"; owm storage --help lists the commands\n", 1},
		"a group alone prints its help":  {"owm", []string{"bundle"}, "", 0},
		"an unknown flag of a group":     {"owm", []string{"bundle", "--strict"}, "owm: unknown flag: --strict\n", 1},
		"an unknown format":              {"owm", []string{"version", "-o", "xml"}, "owm: --output=xml: use one of [json yaml]\n", 1},
	} {
		t.Run(name, func(t *testing.T) {
			if _, stderr, code := root(t, test.program, test.args...); stderr != test.want || code != test.code {
				t.Errorf("exit code %d, %q; want %d, %q", code, stderr, test.code, test.want)
			}
		})
	}
}

func TestVersion(t *testing.T) {
	text, _, _ := root(t, "olm-webhook-manager", "version")
	if flag, _, code := root(t, "olm-webhook-manager", "--version"); code != 0 || !strings.Contains(text, strings.TrimSpace(strings.TrimPrefix(flag, "olm-webhook-manager version "))) {
		t.Errorf("--version prints %q, with exit code %d; version prints %q", flag, code, text)
	}
	for _, line := range []string{"\n  commit: ", "\n  go: 1.", "\n  kubernetes: "} {
		if !strings.Contains(text, line) {
			t.Errorf("%q is not in %q", line, text)
		}
	}
	if out, _, _ := root(t, "olm-webhook-manager", "version", "-o", "json"); !strings.Contains(out, `"kubernetes": "`) {
		t.Errorf("as JSON: %s", out)
	}
}

func TestBuildOf(t *testing.T) {
	info := &debug.BuildInfo{
		GoVersion: "go1.26.1", Main: debug.Module{Version: "v0.0.0-20261123064401-0123456789ab"},
		Deps:     []*debug.Module{{Path: "k8s.io/api", Version: "v0.1.0"}, {Path: "k8s.io/client-go", Version: "v0.36.3"}},
		Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "0123456789ab"}, {Key: "vcs.modified", Value: "true"}},
	}
	bare := &debug.BuildInfo{Main: debug.Module{Version: "(devel)"}, GoVersion: "go1.26.1"}
	for name, test := range map[string]struct {
		info            *debug.BuildInfo
		version, commit string
		want            build
	}{
		"from a repository": {info, "", "", build{"v0.0.0-20261123064401-0123456789ab", "0123456789ab-dirty", "1.26.1", "v0.36.3"}},
		"as a release":      {info, "v1.0.0", "fedcba", build{"v1.0.0", "fedcba", "1.26.1", "v0.36.3"}},
		"from an archive":   {bare, "", "", build{unknown, unknown, "1.26.1", unknown}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := buildOf(test.info, test.version, test.commit); got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

func TestExitCode(t *testing.T) {
	failed := errors.New("failed")
	for name, test := range map[string]struct {
		err         error
		interrupted bool
		want        int
	}{
		"it succeeds":                        {nil, false, 0},
		"it succeeds although interrupted":   {nil, true, 0},
		"it fails":                           {failed, false, 1},
		"it is interrupted":                  {context.Canceled, true, 130},
		"it is interrupted, with its reason": {failed, true, 130},
		"it has a code of its own":           {codedError{2, failed}, true, 2},
	} {
		t.Run(name, func(t *testing.T) {
			if got := exitCode(test.err, test.interrupted); got != test.want {
				t.Errorf("got %d, want %d", got, test.want)
			}
		})
	}
}
