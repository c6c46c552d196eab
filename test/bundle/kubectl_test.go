package bundle

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/programs"
)

// TestKubectlTakesRealBundles pipes the output of bundle render into a dry run of kubectl, as
// docs/author/bundle-checks.md says.
func TestKubectlTakesRealBundles(t *testing.T) {
	bundles := corpus(t)
	if len(bundles) == 0 {
		t.Skip("BUNDLES is not set: no bundles of others to pipe into kubectl")
	}
	e := newEnv(t)
	environment := append(os.Environ(), "KUBECONFIG="+cluster.Kubeconfig, "PATH="+plugin(t)+":"+cluster.PATH())
	for name, dir := range bundles {
		t.Run(name, func(t *testing.T) {
			manifests, rendered := renderedFrom(dir)
			if rendered == nil {
				e.namespace(t, manifests[0].GetName())
			}
			cmd := exec.CommandContext(t.Context(), "bash", "-o", "pipefail", "-c", `kubectl webhooks bundle render "$0" | kubectl apply --server-side --dry-run=server -f -`, dir)
			var hints bytes.Buffer
			cmd.Env, cmd.Stderr = environment, &hints
			taken, err := cmd.Output()
			want, known := refused[name]
			switch {
			case known && err == nil:
				t.Errorf("it is accepted, but %s reports that it is not", want.foretold)
			case known && !strings.Contains(hints.String(), want.says):
				t.Errorf("got %q, want %q", &hints, want.says)
			case !known && err != nil:
				t.Errorf("%v: %s", err, &hints)
			case !known && strings.Count(string(taken), "serverside-applied (server dry run)\n") != len(manifests):
				t.Errorf("of %d objects these are taken:\n%s", len(manifests), taken)
			}
		})
	}
}

func plugin(t *testing.T) string {
	t.Helper()
	path, err := programs.Path("kubectl-webhooks")
	must(t, err)
	return filepath.Dir(path)
}
