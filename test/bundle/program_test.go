package bundle

import (
	"os"
	"os/exec"
	"testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/programs"
)

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
