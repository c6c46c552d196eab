package host

import (
	"context"
	"fmt"
	"io"
	"os/exec"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/cluster/internal/node"
)

// Load imports image archives, of OCI or docker, for pods with imagePullPolicy Never or IfNotPresent.
func Load(ctx context.Context, run string, archives []string, out io.Writer) error {
	state := Observe(ctx, run)
	if state.Phase != Up {
		return notUp(state)
	}
	for _, archive := range archives {
		cmd := exec.CommandContext(ctx, state.Layout.Program("ctr"),
			"--address", node.ContainerdSocket(state.PID), "--namespace", "k8s.io",
			"images", "import", "--local", archive)
		if output, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("load %s: %w\n%s", archive, err, output)
		}
		fmt.Fprintf(out, "loaded %s\n", archive)
	}
	return nil
}

// Kubeconfig returns the path of the running cluster's kubeconfig.
func Kubeconfig(ctx context.Context, run string) (string, error) {
	state := Observe(ctx, run)
	if state.Phase != Up {
		return "", notUp(state)
	}
	return state.Layout.Kubeconfig(), nil
}

func notUp(state State) error {
	if state.Phase == Broken {
		return fmt.Errorf("the cluster is broken, bring it up again: %s", state.Reason)
	}
	return fmt.Errorf("no cluster is up: bring it up first")
}
