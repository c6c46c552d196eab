package node

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/cluster/internal/api"
)

// answerWithin is far more than a component needs: the end of one that fails is detected at once.
const answerWithin = 2 * time.Minute

// poll asks until the component answers, fails it, or any component ends.
func (s *supervisor) poll(ctx context.Context, component string, ask func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	ctx, give := context.WithCancelCause(ctx)
	defer give(nil)
	err := api.Poll(ctx, func(ctx context.Context) error {
		if err := s.ended(); err != nil {
			give(err)
			return err
		}
		return ask(ctx)
	})
	if err != nil {
		return fmt.Errorf("%s does not answer: %w", component, err)
	}
	logf("%s answers", component)
	return nil
}

func importSandboxImage(ctx context.Context, s *supervisor) error {
	ctr := s.layout.Program("ctr")
	err := s.poll(ctx, "containerd", func(ctx context.Context) error {
		return RunProgram(ctx, ctr, "--address", containerdSocket, "version")
	})
	if err != nil {
		return err
	}
	return RunProgram(ctx, ctr, "--address", containerdSocket, "--namespace", "k8s.io", "images", "import", "--local", s.layout.SandboxArchive())
}

// RunProgram runs a program to its end. The error has its output.
func RunProgram(ctx context.Context, program string, arguments ...string) error {
	output, err := exec.CommandContext(ctx, program, arguments...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", program, strings.Join(arguments, " "), err, strings.TrimSpace(string(output)))
	}
	return nil
}

// NewClient returns a client that is the cluster's administrator.
func NewClient(l Layout) (*api.Client, error) {
	return newClient(l, Server)
}

func newClient(l Layout, server string) (*api.Client, error) {
	return api.New(server, l.PKI("ca.crt"), l.PKI("admin.crt"), l.PKI("admin.key"))
}
