package kube

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/programs"
)

// StartCertManager installs the CustomResourceDefinitions of cert-manager, and runs its controllers and its cainjector
// (see test/certmanager) as an administrator until Stop. The definitions stay.
func (c *Cluster) StartCertManager(ctx context.Context) error {
	module, err := moduleNextTo("certmanager")
	if err != nil {
		return err
	}
	program, err := programs.Path(programs.CertManager)
	if err != nil {
		return err
	}
	source, err := goOutput(ctx, module, "list", "-m", "-f", "{{.Dir}}", "github.com/cert-manager/cert-manager")
	if err != nil {
		return err
	}
	definitions, err := filepath.Glob(filepath.Join(source, "deploy", "crds", "cert-manager.io_*.yaml"))
	if err != nil {
		return err
	}
	if err := c.InstallCRDs(ctx, definitions...); err != nil {
		return err
	}
	log, err := os.CreateTemp("", "cert-manager-*.log")
	if err != nil {
		return err
	}
	if err := log.Close(); err != nil {
		return err
	}
	p, err := startProcess(program, log.Name(), []string{c.Kubeconfig})
	if err != nil {
		return err
	}
	c.atStop = append(c.atStop, func() error {
		ended := p.endError() // it has no reason to end by itself
		p.kill()
		return errors.Join(ended, os.Remove(log.Name()))
	})
	return nil
}

func goOutput(ctx context.Context, module string, arguments ...string) (string, error) {
	var output bytes.Buffer
	cmd := exec.CommandContext(ctx, "go", arguments...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = module, &output, os.Stderr
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off") // each module of test/ has versions of its own
	err := cmd.Run()
	return string(bytes.TrimSpace(output.Bytes())), err
}

// StartControllers runs controllers of kube-controller-manager until stop or Stop. The cluster must be the package's own.
func (c *Cluster) StartControllers(names []string, flags ...string) (stop func() error, err error) {
	if c.server == nil {
		return nil, errors.New("a cluster that exists already has its controllers: unset KUBECONFIG")
	}
	p, err := startProcess(filepath.Join(c.server.bin, "kube-controller-manager"), c.server.path("kube-controller-manager.log"), append([]string{
		"--kubeconfig=" + c.Kubeconfig,
		"--controllers=" + strings.Join(names, ","),
		"--leader-elect=false",
		"--secure-port=0", // no client calls it
		"--kube-api-qps=500",
		"--kube-api-burst=1000",
	}, flags...))
	if err != nil {
		return nil, err
	}
	stop = sync.OnceValue(func() error {
		ended := p.endError() // it has no reason to end by itself
		p.kill()
		return ended
	})
	c.atStop = append(c.atStop, stop)
	return stop, nil
}

// RunController runs a controller until stop is called, or until the test ends.
func RunController(t testing.TB, c interface {
	Fill(ctx context.Context) error
	Run(ctx context.Context)
}) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var running wait.Group
	running.Start(func() {
		if c.Fill(ctx) == nil {
			c.Run(ctx)
		}
	})
	stop = sync.OnceFunc(func() { cancel(); running.Wait() })
	t.Cleanup(stop)
	return stop
}
