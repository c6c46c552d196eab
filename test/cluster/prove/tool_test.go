//go:build cluster

package prove

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/cluster/internal/host"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/cluster/internal/node"
)

type tool struct {
	program string
	layout  node.Layout
}

func newTool(t *testing.T) tool {
	t.Helper()
	t.Setenv("KUBECONFIG", "") // else the tool would use that cluster
	program := filepath.Join(t.TempDir(), "cluster")
	output(t, "go", "build", "-o", program, "../cmd/cluster")
	return tool{program: program, layout: node.Layout{Run: host.RunDir(func(string) string { return "" })}}
}

func (c tool) run(t *testing.T, arguments ...string) string {
	t.Helper()
	return output(t, c.program, arguments...)
}

func (c tool) try(t *testing.T, arguments ...string) (string, error) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), c.program, arguments...).CombinedOutput()
	return string(out), err
}

func (c tool) kubectl(t *testing.T, arguments ...string) {
	t.Helper()
	c.kubectlOutput(t, arguments...)
}

// kubectlOutput returns what kubectl writes, without its warnings.
func (c tool) kubectlOutput(t *testing.T, arguments ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), filepath.Join(c.layout.BinLink(), "kubectl"),
		append([]string{"--kubeconfig", c.layout.Kubeconfig()}, arguments...)...)
	var warnings bytes.Buffer
	command.Stderr = &warnings
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", command, err, warnings.String())
	}
	return string(out)
}

func eventually(t *testing.T, what string, so func() bool) {
	t.Helper()
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.After(30 * time.Second); !so(); {
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatalf("never: %s", what)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
