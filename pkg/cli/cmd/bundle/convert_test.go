package bundle

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/exitcode"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

const converted = "../../bundle/convert/testdata/kubebuilder.yaml"

func convertInput(t *testing.T, input string, args ...string) (out string, err error) {
	t.Helper()
	cmd := NewCommand()
	var text bytes.Buffer
	cmd.SetIn(strings.NewReader(input))
	cmd.SetOut(&text)
	cmd.SetErr(&text)
	cmd.SetArgs(append([]string{"convert", "--name", "shop", "--version", "1.0.0"}, args...))
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	err = cmd.ExecuteContext(t.Context())
	return text.String(), err
}

// The result is a bundle without errors. It is the same for a file, a directory and the standard input.
func TestConvert(t *testing.T) {
	input := string(installtest.OrPanic(os.ReadFile(converted)))
	folder := t.TempDir()
	installtest.Must(t, errors.Join(
		os.MkdirAll(filepath.Join(folder, "chart/templates"), 0o700),
		os.WriteFile(filepath.Join(folder, "chart/templates/all.yaml"), []byte(input), 0o600),
		os.WriteFile(filepath.Join(folder, "NOTES.txt"), []byte("{{ .Values }}"), 0o600),
	))
	for name, source := range map[string]string{"a file": converted, "a directory": folder, "the standard input": "-"} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "new", "bundle")
			out, err := convertInput(t, input, "-o", dir, source)
			installtest.Must(t, err)
			installtest.Contains(t, out, "note    ClusterServiceVersion shop.v1.0.0  spec.install.spec.permissions\n        ",
				dir+": 6 files written; 0 errors, 0 warnings, 2 notes\nNext: bundle validate "+dir+"\n")
			report, err := command(t, "validate", dir)
			installtest.Must(t, err)
			installtest.Contains(t, report, dir+": 0 errors, ")
			_, err = convertInput(t, input, "-o", dir, source)
			installtest.Error(t, "-o "+dir+": the directory is not empty: name a new directory, so that no file is replaced", err)
		})
	}
}

// A bundle that lacks a part of the operator is written, with an error.
func TestConvertIncompletely(t *testing.T) {
	input := string(installtest.OrPanic(os.ReadFile(converted)))
	dir := t.TempDir() // It is empty.
	out, err := convertInput(t, strings.Replace(input, "port: 443", "port: 444", 1), "-o", dir, "-")
	installtest.Error(t, dir+" lacks parts of the operator: 3 errors above", err)
	installtest.Contains(t, out, "error   MutatingWebhookConfiguration cache-operator-mutating-webhook-configuration  webhooks[0].clientConfig.service.port\n", "Next: bundle validate")
	if _, err := os.Stat(filepath.Join(dir, "metadata/annotations.yaml")); err != nil {
		t.Error(err)
	}
}

// A refused command writes nothing.
func TestConvertRefuses(t *testing.T) {
	folder := t.TempDir()
	chart := filepath.Join(folder, "chart")
	installtest.Must(t, errors.Join(
		os.Mkdir(chart, 0o700), os.WriteFile(filepath.Join(chart, "Chart.yaml"), nil, 0o600),
		os.Mkdir(filepath.Join(folder, "empty"), 0o700),
	))
	for name, test := range map[string]struct {
		args []string
		says string
	}{
		"no input":         {nil, "requires at least 1 arg"},
		"no name":          {[]string{"--name=", converted}, `--name "": name the package`},
		"no version":       {[]string{"--version=", converted}, `--version "": use a semantic version, such as 0.1.0`},
		"an absent file":   {[]string{"nowhere.yaml"}, "nowhere.yaml: no such file"},
		"a file twice":     {[]string{converted, converted}, "is named twice: name each file once"},
		"a chart":          {[]string{chart}, "Chart.yaml: the directory has sources of manifests, and the command reads rendered manifests: run helm template " + chart + ", and pass the output"},
		"a kustomization":  {[]string{"../../../../manifests"}, "run kustomize build ../../../../manifests"},
		"an empty folder":  {[]string{filepath.Join(folder, "empty")}, "has no file whose name ends in .yaml, .yml or .json"},
		"an empty input":   {[]string{"-"}, "the input has no Deployment"},
		"a file as output": {[]string{"-o", "convert_test.go", converted}, "-o convert_test.go: "},
	} {
		t.Run(name, func(t *testing.T) {
			mustRefuse(t, test.says, "", test.args...)
		})
	}
}

func mustRefuse(t *testing.T, says, input string, args ...string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "bundle")
	_, err := convertInput(t, input, append([]string{"-o", dir}, args...)...)
	installtest.Error(t, says, err)
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory is written: %v", err)
	}
}

func TestConvertRefusesLargeInput(t *testing.T) {
	mustRefuse(t, "-: the input has more than 8 MiB", strings.Repeat("#", bundle.MaxSize+1), "-")
}

func TestConvertRefusesPipes(t *testing.T) {
	folder := t.TempDir()
	err := installtest.NamedPipe(filepath.Join(folder, "a.yaml"))
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	installtest.Must(t, err)
	mustRefuse(t, "a.yaml is no regular file", "", folder)
}

// Ctrl-C ends the command, also while the standard input is silent.
func TestConvertInterrupted(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	silence, typed := io.Pipe()
	t.Cleanup(func() { typed.Close() })
	_, err := readContext(ctx, silence)
	installtest.Same(t, "the exit code", exitcode.Interrupted, exitcode.Of(t.Context(), err))
}

// Texts of the input do not reach the terminal raw.
func TestConvertEncodes(t *testing.T) {
	input := string(installtest.OrPanic(os.ReadFile(converted))) + "---\napiVersion: example.com/v1\nkind: \"Evil\\x1b[2J\"\nmetadata: {name: \"a\\nerror\"}\n"
	out, err := convertInput(t, input, "-o", filepath.Join(t.TempDir(), "bundle"), "-")
	installtest.Must(t, err)
	installtest.Contains(t, out, `warning Evil\x1b[2J a\nerror  kind`)
}
