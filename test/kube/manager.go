package kube

import (
	"path/filepath"
	"testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/programs"
)

// RunManager runs the program of the manager as an administrator until the test ends. Its log is part of a failure.
func (c *Cluster) RunManager(t testing.TB, environment []string, flags ...string) {
	t.Helper()
	program, err := programs.Path(programs.Manager)
	must(t, err)
	log := filepath.Join(t.TempDir(), "manager.log")
	p, err := startProcess(program, log, append([]string{"run", "--kubeconfig=" + c.Kubeconfig}, flags...), environment...)
	must(t, err)
	t.Cleanup(func() {
		if err := p.endError(); err != nil {
			t.Error(err)
		}
		p.kill()
		if t.Failed() {
			t.Log(tail(log))
		}
	})
}
