package kube

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// StartCertManager installs cert-manager's CustomResourceDefinitions and runs its
// controllers and its cainjector, of its own packages (see test/certmanager), as the
// cluster's administrator. The first time on a machine it builds them, which takes some
// minutes. It ends with the cluster's Stop; its definitions stay.
func (c *Cluster) StartCertManager(ctx context.Context) error {
	module, err := moduleBeside("certmanager")
	if err != nil {
		return err
	}
	program, err := buildCertManager(ctx, module)
	if err != nil {
		return fmt.Errorf("build cert-manager with go build -C %s: %w", module, err)
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

// buildCertManager returns the program, which is kept by all that it is made from.
func buildCertManager(ctx context.Context, module string) (string, error) {
	cache, err := cacheFor(module)
	if err != nil {
		return "", err
	}
	program := filepath.Join(cache, "cert-manager")
	if _, err := os.Stat(program); err == nil {
		return program, nil
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	lock, err := os.Create(filepath.Join(cache, "lock"))
	if err != nil {
		return "", err
	}
	defer lock.Close() // lets go of it
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", err
	}
	if _, err := os.Stat(program); err == nil {
		return program, nil // another build has ended meanwhile
	}
	unfinished := program + ".unfinished"
	if _, err := goOutput(ctx, module, "build", "-o", unfinished, "."); err != nil {
		return "", err
	}
	return program, os.Rename(unfinished, program)
}

// cacheFor is a directory outside the tree, of its own for each state of the module.
func cacheFor(module string) (string, error) {
	hash := sha256.New()
	sources, err := filepath.Glob(filepath.Join(module, "*.*"))
	if err != nil {
		return "", err
	}
	for _, source := range sources {
		content, err := os.ReadFile(source)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(hash, "%s %d\n%s", filepath.Base(source), len(content), content)
	}
	root := os.Getenv("OWM_CACHE")
	if root == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("no place for the built cert-manager: set OWM_CACHE, XDG_CACHE_HOME or HOME: %w", err)
		}
		root = filepath.Join(user, "olm-webhook-manager")
	}
	return filepath.Join(root, fmt.Sprintf("certmanager-%.6x", hash.Sum(nil))), nil
}

func goOutput(ctx context.Context, module string, arguments ...string) (string, error) {
	var output bytes.Buffer
	cmd := exec.CommandContext(ctx, "go", arguments...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = module, &output, os.Stderr
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	err := cmd.Run()
	return string(bytes.TrimSpace(output.Bytes())), err
}
