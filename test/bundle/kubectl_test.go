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
				t.Errorf("it is accepted, and %s says it is not", want.foretold)
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

// mostProgram is what a tenth more than its code comes to: all methods of all types would come
// to 73 MB.
const mostProgram = 54 << 20

func TestProgramHoldsOnlyWhatIsCalled(t *testing.T) {
	path, err := programs.Path("kubectl-webhooks")
	must(t, err)
	info, err := os.Stat(path)
	must(t, err)
	if info.Size() > mostProgram {
		t.Errorf("the program has %d bytes, more than %d: does anything call methods by name again (<ReflectMethod> in what go build -ldflags=-dumpdep prints)?", info.Size(), mostProgram)
	}
}

// webhooks is a command as a person gives it, without a terminal to answer a question.
func webhooks(t *testing.T, arguments ...string) *exec.Cmd {
	t.Helper()
	path, err := programs.Path("kubectl-webhooks")
	must(t, err)
	cmd := exec.CommandContext(t.Context(), path, arguments...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+cluster.Kubeconfig)
	return cmd
}
