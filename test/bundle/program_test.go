package bundle

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// program is the manager's with its commands, built once.
var program = sync.OnceValues(func() (string, error) {
	folder, err := cluster.TempDir()
	if err != nil {
		return "", err
	}
	path := filepath.Join(folder, "kubectl-webhooks")
	if output, err := exec.Command("go", "build", "-o", path, "../../cmd/olm-webhook-manager").CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, output)
	}
	return path, nil
})

// webhooks is a command as a person gives it, with nobody there to answer a question.
func webhooks(t *testing.T, arguments ...string) *exec.Cmd {
	t.Helper()
	path, err := program()
	must(t, err)
	cmd := exec.CommandContext(t.Context(), path, arguments...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+cluster.Kubeconfig)
	return cmd
}
