package kube

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
)

// BuildManager writes the manager's program, as it is shipped, to an absolute path.
func BuildManager(ctx context.Context, path string) error {
	module, err := moduleBeside("cluster")
	if err != nil {
		return err
	}
	script := filepath.Join(module, "../../hack/build.sh")
	if output, err := exec.CommandContext(ctx, script, path, "./cmd/olm-webhook-manager").CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", script, err, output)
	}
	return nil
}
