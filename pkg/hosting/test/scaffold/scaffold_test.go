// Package scaffold builds and tests the operators that kubectl webhooks init writes.
package scaffold

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/scaffold"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// Each operator builds, is formatted, and passes its own tests.
func TestOperatorsOfInit(t *testing.T) {
	hosting := installtest.OrPanic(filepath.Abs("../.."))
	sums := installtest.OrPanic(os.ReadFile(filepath.Join(hosting, "go.sum")))
	for _, types := range [][]string{{scaffold.Validating}, {scaffold.Mutating}, {scaffold.Conversion}, scaffold.Types} {
		t.Run(strings.Join(types, " "), func(t *testing.T) {
			files := installtest.OrPanic(scaffold.Files(scaffold.Options{
				Name: "team-label", Domain: "example.com", Module: "example.com/team-label", Image: "registry.example.com/team-label:v0.1.0",
				Types: types, HostingVersion: "v0.0.0", HostingDir: hosting,
			}))
			files["go.sum"] = string(sums)
			dir := t.TempDir()
			for name, text := range files {
				file := filepath.Join(dir, name)
				installtest.Must(t, os.MkdirAll(filepath.Dir(file), 0o750))
				installtest.Must(t, os.WriteFile(file, []byte(text), 0o600))
			}
			installtest.Same(t, "files that gofmt changes", "", inside(t, dir, "gofmt", "-l", "."))
			inside(t, dir, "go", "vet", "./...")
			inside(t, dir, "go", "test", "./...")
			inside(t, dir, "go", "build", "-o", os.DevNull, ".")
		})
	}
}

func inside(t *testing.T, dir, program string, arguments ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, arguments...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod", "CGO_ENABLED=0")
	output, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(cmd.Args, " "), err, output)
	}
	return string(output)
}
